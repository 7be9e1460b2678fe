"""Packages of npm for programs in JavaScript, installed once per state of their package.json."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from compat_tests.harness.java import CLASSES


def installed(package: Path) -> Path:
    """Return the folder, under ``build``, with the packages of a package.json."""
    folder = CLASSES / f"node-{hashlib.sha256(package.read_bytes()).hexdigest()[:16]}"
    if not (folder / ".done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(package, folder)
        command = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--silent"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        (folder / ".done").touch()
    return folder
