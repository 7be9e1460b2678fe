"""Cases written in Go, built once per state of their module."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from compat_tests.harness.java import CLASSES
from compat_tests.harness.program_cases import ProgramCases

GO = shutil.which("go")


@dataclass
class GoCases(ProgramCases):
    """The cases of the module around ``source``; each is a method of ``cases``."""

    declaration = re.compile(r"^func \(c cases\) ([A-Z]\w*)\(", re.MULTILINE)

    def command(self, bootstrap: str, wanted: list[str]) -> list[str]:
        return [str(build_go(self.source.parent)), bootstrap, *wanted]


def build_go(folder: Path) -> Path:
    """Build the program of a module, unless it is there already, and return its path. Raises RuntimeError."""
    files = sorted([*folder.glob("*.go"), *folder.glob("go.*")])
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    program = CLASSES / f"go-{folder.name}-{digest}"
    if not program.exists():
        assert GO is not None
        program.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [GO, "build", "-o", str(program), "."], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"go build refused {folder.name}:\n{done.stderr}")
    return program
