"""Lint, format, types, the direction of imports, and whether the generated code is what the generator writes."""

from __future__ import annotations

import subprocess
import sys

CHECKS = (
    ("ruff", "check"),
    ("ruff", "format", "--check"),
    ("mypy",),
    ("lint-imports",),
    (sys.executable, "-m", "scripts.wiregen", "--check"),
)


def check() -> str:
    """Runs them, one after the other; the first command that failed, and "" where all is right."""
    for command in CHECKS:
        if subprocess.run(command, check=False).returncode:
            return " ".join(command)
    return ""
