"""The bench works: one small round of every load, against both brokers. Its numbers are for no test to judge."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scripts.jars import ROOT


def test_a_quick_round(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.bench_job", "--quick", "--folder", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.startswith("|")]
    for wanted in ("start", "memory, idle", "CPU per one-record produce request", "end-to-end latency, p99"):
        assert wanted in rows
