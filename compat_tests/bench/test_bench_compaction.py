"""The bench of compaction works, in small: both brokers clean the same data. Its numbers are for no test to judge."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scripts.jars import ROOT


def test_a_small_run(tmp_path: Path) -> None:
    options = ["--keys", "5000", "--quiet-s", "0.5", "--folder", str(tmp_path)]
    command = [sys.executable, "-m", "scripts.bench_compaction_job", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    rows = {
        cells[0]: cells[1:] for line in done.stdout.splitlines() if len(cells := line.strip("| ").split(" | ")) == 3
    }
    before, left = (rows[name] for name in ("bytes before", "bytes left"))
    for cell_before, cell_left in zip(before, left, strict=True):
        assert 0 < int(cell_left.split()[0]) < int(cell_before.split()[0])
