"""scripts/bench in its quick mode: every kind of load runs against both brokers, and the table has a line for each.

Nothing is said here about the numbers, which a busy machine makes meaningless.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import ROOT
from scripts.bench_job.counted_loads import COORDINATED

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
    *(load.name for load in COORDINATED),
    "Produce, one record: 50 connections, 1 in flight",
    "Produce, one record: 1 connection, 20 in flight",
    "Produce, one record: 50 connections, 20 in flight",
    "OffsetCommit of one partition: 50 connections, 1 in flight",
    "Heartbeat: 50 connections, 1 in flight",
    "fetches of 900 KB, cold pages",
    "fetches of 900 KB, warm pages",
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
        assert re.match(r"[\d,.]+[ /]", kafka)
        assert re.match(r"[\d,.]+[ /]", ours)
        assert span == f"{ratio} to {ratio}"  # one round, so one pair


def test_unknown_load() -> None:
    done = _bench("--only", "nonsense")
    assert done.returncode == 2
    assert "perf-100-1" in done.stderr


def test_beside_another_broker(tmp_path: Path) -> None:
    """Which is here another process of ours: it has a table of its own, and goes on running."""
    other = Pykbroker(tmp_path)
    other.start()
    try:
        done = _bench(
            "--quick", "--only", "start", "--only", "requests", "--beside", f"third={other.bootstrap}:{other.pid}"
        )
        assert done.returncode == 0, done.stderr
        assert re.findall(r"^\| \| (.+?) \|", done.stdout, re.MULTILINE) == ["Apache Kafka", "third"]
        of_third = done.stdout.split("| third |")[1]
        assert "one record per request" in of_third
        assert "start" not in of_third  # it cannot be started anew
        assert other.is_ready()
    finally:
        other.stop()


def test_on_other_loops_and_interpreters() -> None:
    """Which is here the same one: each has a table of its own."""
    sides = ["--python", f"same={sys.executable}", "--asyncio", f"without={sys.executable}"]
    done = _bench("--quick", "--only", "requests", *sides)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^\| \| (.+?) \|", done.stdout, re.MULTILINE) == ["Apache Kafka", "same", "without"]
