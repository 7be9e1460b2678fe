"""The bench of sizes works, in small. Its numbers are for no test to judge, but what it counts is: descriptors are bounded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pykbroker.storage.real_disk import MAX_OPEN
from scripts.jars import ROOT


def test_a_quick_run(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scripts.bench_size_job", "--quick", "--fetches", "50", "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()[2:] if "|" in line]
    assert [row[0] for row in rows] == [
        "10 partitions",
        "200 partitions",
        "1 partition, 5 segments",
        "1 partition, 100 segments",
        "1 partition, 1 GB",
        "1 partition, 5 GB",
    ]
    for row in rows:
        assert int(row[5].replace(",", "")) < MAX_OPEN + 50
    assert list(tmp_path.iterdir()) == []
