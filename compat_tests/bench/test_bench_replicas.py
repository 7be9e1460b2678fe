"""The row of three brokers, small: its loads, and a leader that dies."""

from __future__ import annotations

from pathlib import Path

from compat_tests.harness.ours import Pykbroker
from scripts.bench_job.replicas import Replicated


def test_three_brokers(tmp_path: Path) -> None:
    load = Replicated(tmp_path, records=2_000, kills=1, hasty=True)
    readings = load.run(Pykbroker(tmp_path / "one"), "small")  # which names the kind
    rows = [each.row for each in readings]
    assert rows[-2:] == ["three brokers, memory after that", "three brokers, no acknowledgement when a leader dies"]
    assert all(each.row.startswith("three brokers, ") and each.cost > 0 for each in readings)
    assert any(each.cpu_s for each in readings)
