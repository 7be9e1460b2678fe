"""The bench of the HTTP side works, in small. Its numbers are for no test to judge."""

from __future__ import annotations

import re
import subprocess
import sys

from scripts.jars import ROOT


def units(*options: str) -> list[str]:
    """Of the figures that are printed."""
    command = [sys.executable, "-m", "scripts.bench_http_job", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return re.findall(r"^ *[\d.]+ (s|ms|µs|MB|/s)  ", done.stdout, re.MULTILINE)


def test_a_quick_run() -> None:
    found = units("--rounds", "1", "--produces", "20", "--starts", "1", "--partitions", "3")
    assert found == ["s"] * 2 + ["ms"] * 8 + ["µs"] * 4 + ["MB"] * 2


def test_the_schema_registry() -> None:
    assert units("--registry", "--starts", "1", "--requests", "20") == ["s", "MB", "s", "MB", *["/s"] * 4, "MB"]
