"""What is said on a system that is not served. The modules of Unix are missing there, as they are here."""

from __future__ import annotations

import subprocess
import sys

import pytest

_ON_WINDOWS = """
import sys
for name in ("fcntl", "resource", "termios", "uvloop"):
    sys.modules[name] = None
sys.platform = "win32"
from pykbroker.__main__ import main
main()
"""


@pytest.mark.parametrize("arguments", [["serve"], ["serve", "--help"], ["topics", "list"], []])
def test_windows_is_refused_in_words(arguments: list[str]) -> None:
    command = [sys.executable, "-c", _ON_WINDOWS, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Linux and macOS" in done.stderr
    assert "WSL" in done.stderr
    assert len(done.stderr.splitlines()) == 1
