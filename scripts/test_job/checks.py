"""Lint, format, types, import contracts, and whether generated code is up to date."""

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
    """Run the checks one after the other; returns the first command that failed, or ""."""
    for command in CHECKS:
        if subprocess.run(command, check=False).returncode:
            return " ".join(command)
    return ""
