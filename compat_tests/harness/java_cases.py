"""Cases written in Java, compiled once per state of their source and run in one JVM."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from compat_tests.harness.java import compile_java, java_command
from compat_tests.harness.program_cases import ProgramCases, wanted_cases

__all__ = ["JavaCases", "wanted_cases"]

_CASES_JAVA = Path(__file__).parent / "java_src" / "Cases.java"


@dataclass
class JavaCases(ProgramCases):
    """The cases of one Java source file, compiled against a set of jars."""

    declaration = re.compile(r"@Cases\.Case\s+static void (\w+)\(")

    jar_set: str
    helpers: tuple[Path, ...] = ()

    def command(self, bootstrap: str, wanted: list[str]) -> list[str]:
        classes = compile_java([_CASES_JAVA, *self.helpers, self.source], self.jar_set)
        return [*java_command("Cases", self.jar_set, classes=classes), self.source.stem, bootstrap, *wanted]
