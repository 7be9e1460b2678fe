"""A clean copy of the repository, without build and test artifacts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from compat_tests.harness.process import ROOT


def clone(folder: Path) -> Path:
    """Copy the files that git tracks, or would add, to ``folder``; symbolic links stay links."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        source, target = ROOT / name, folder / name
        if source.is_symlink() or source.exists():  # deleted files are listed until they are committed
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    return folder
