"""scripts/bench in its quick mode: every kind of load runs against both brokers, and the table has a line for each.

Nothing is said here about the numbers, which a busy machine makes meaningless.
"""

from __future__ import annotations

import re
import subprocess
import sys

from compat_tests.harness.process import ROOT

_ROWS = [
    "start",
    "memory, idle",
    "producer-perf, 100 B, 1 partition",
    "consumer-perf, 100 B, 1 partition",
    "share group of 4 members, 6 partitions",
    "share group of 4 members, 6 partitions, latency, p50",
    "share group of 4 members, 6 partitions, latency, p99",
    "librdkafka, large batches, produce",
    "librdkafka, large batches, consume",
    "librdkafka, 300 partitions, produce",
    "librdkafka, 300 partitions, consume",
    "librdkafka, one record per request",
    "CPU per one-record produce request",
    "end-to-end latency, p50",
    "end-to-end latency, p99",
    "produce among 50 MB fetches, p50",
    "produce among 50 MB fetches, p99",
    "memory, after these loads",
]


def _bench(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scripts.bench_job", *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def test_quick() -> None:
    done = _bench("--quick")
    assert done.returncode == 0, done.stderr
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if line[:1] == "|"]
    assert [cells[0] for cells in lines[2:]] == _ROWS
    for _, kafka, ours, ratio, span, *_ in lines[2:]:
        assert re.match(r"[\d,.]+ ", kafka)
        assert re.match(r"[\d,.]+ ", ours)
        assert span == f"{ratio} to {ratio}"  # one round, so one pair


def test_unknown_load() -> None:
    done = _bench("--only", "nonsense")
    assert done.returncode == 2
    assert "perf-100-1" in done.stderr
