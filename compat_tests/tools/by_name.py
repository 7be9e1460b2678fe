"""Kafka's commands as the image has them, by their names without ``kafka-``."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

from compat_tests.harness.kafka_tools import ToolResult
from pykbroker.container.tools.table import main


def ours(name: str, *words: str, stdin: str = "") -> ToolResult:
    """One of our commands in a process of its own, as the image runs it."""
    command = [sys.executable, "-P", "-m", "pykbroker.container", "tool", f"kafka-{name}.sh", *words]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=False)
    return ToolResult(done.returncode, done.stdout, done.stderr)


def ours_here(name: str, *words: str) -> ToolResult:
    """One that reads no standard input, in this process: that is sooner."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = main(f"kafka-{name}.sh", list(words))
    return ToolResult(status, out.getvalue(), err.getvalue())
