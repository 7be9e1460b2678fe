"""Tests that are started in the background: Ctrl-C is what their processes expect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.jars import ROOT

IGNORING = "import runpy, signal, sys; [signal.signal(each, signal.SIG_IGN) for each in (2, 1)]; sys.argv.pop(0); runpy.run_module('pytest', run_name='__main__')"


@pytest.mark.deep(but=1)
@pytest.mark.parametrize("folder", ["pykbroker/tests", "scripts", "compat_tests"])
def test_what_the_shell_told_to_ignore_is_heard(folder: str, tmp_path: Path) -> None:
    """pytest with the conftest of each folder, as ``&`` and nohup start it."""
    test = tmp_path / "test_signals.py"
    test.write_text(
        "import signal\ndef test_heard():\n"
        "    assert [signal.getsignal(each) for each in (2, 1)] == [signal.default_int_handler, signal.SIG_DFL]\n"
    )
    plugin = f"{folder.replace('/', '.')}.conftest"
    command = [sys.executable, "-c", IGNORING, "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin, str(test)]
    without_plugins = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # those of others take most of the time
    done = subprocess.run(command, cwd=ROOT, env=without_plugins, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
