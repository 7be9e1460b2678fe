"""The bench of the HTTP side works, in small. Its numbers are for no test to judge."""

from __future__ import annotations

import re
import subprocess
import sys

from scripts.jars import ROOT


def test_a_quick_run() -> None:
    options = ("--rounds", "1", "--produces", "20", "--starts", "1", "--partitions", "3")
    command = [sys.executable, "-m", "scripts.bench_http_job", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    units = re.findall(r"^ *[\d.]+ (s|ms|µs|MB)  ", done.stdout, re.MULTILINE)
    assert units == ["s"] * 2 + ["ms"] * 8 + ["µs"] * 4 + ["MB"] * 2
