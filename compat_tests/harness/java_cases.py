"""Cases written in Java as pytest tests: compiled once, run in one virtual machine, reported one by one."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from compat_tests.harness.java import compile_java, java_command

_CASES_JAVA = Path(__file__).parent / "java_src" / "Cases.java"
_DECLARATION = re.compile(r"@Cases\.Case\s+static void (\w+)\(")
_RESULT = re.compile(r"^CASE (\w+) (PASS|FAIL)")


@dataclass
class JavaCases:
    """The cases of one Java source file. ``names`` reads the source, so collecting tests starts no Java."""

    source: Path
    jar_set: str
    helpers: tuple[Path, ...] = ()
    limit_s: float = 240.0
    _results: dict[str, str] = field(default_factory=dict)
    _output: str = ""

    @property
    def names(self) -> list[str]:
        return sorted(_DECLARATION.findall(self.source.read_text()))

    def check(self, case: str, bootstrap: str, wanted: list[str]) -> None:
        """Fails the running test when the case failed. The first call runs all the wanted cases."""
        if not self._results:
            self._run(bootstrap, wanted)
        if case not in self._results:
            pytest.fail(f"the Java program ended before {case}:\n{self._output[-3000:]}", pytrace=False)
        if self._results[case]:
            pytest.fail(self._results[case], pytrace=False)

    def _run(self, bootstrap: str, wanted: list[str]) -> None:
        classes = compile_java([_CASES_JAVA, *self.helpers, self.source], self.jar_set)
        command = [*java_command("Cases", self.jar_set, classes=classes), self.source.stem, bootstrap, *wanted]
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=self.limit_s, check=False
            )
            self._output = done.stdout
        except subprocess.TimeoutExpired as late:
            self._output = (late.stdout or b"").decode() + f"\n(killed after {self.limit_s:.0f} s)"
        failing = None
        for line in self._output.splitlines():
            if found := _RESULT.match(line):
                failing = found[1] if found[2] == "FAIL" else None
                self._results[found[1]] = ""
            elif failing and line.startswith("| "):
                self._results[failing] += line[2:] + "\n"


def wanted_cases(request: pytest.FixtureRequest) -> list[str]:
    """The cases of the running test's module that this session selected."""
    return [
        item.callspec.params["case"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and hasattr(item, "callspec")
    ]
