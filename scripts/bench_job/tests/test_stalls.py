"""The table of waits."""

from __future__ import annotations

from scripts.bench_job.stalls import Stall, markdown


def test_medians_of_both_brokers_stand_side_by_side() -> None:
    kafka = {"a case": [Stall(0.001, 0.1), Stall(0.002, 0.2), Stall(9, 9)]}
    ours = {"a case": [Stall(0.004, 0.3)]}
    assert markdown((kafka, ours)).splitlines()[-1] == "| a case | 2 ms | 4 ms | 200 ms | 300 ms |"
