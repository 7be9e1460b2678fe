"""Rates and percentiles."""

from __future__ import annotations

import pytest

from pykbroker.cli.latencies import percentile, summary


@pytest.mark.parametrize(("percent", "value"), [(50, 50), (99, 99), (100, 100), (0.5, 1), (1, 1)])
def test_percentiles_are_values_that_were_measured(percent: float, value: float) -> None:
    assert percentile(range(1, 101), percent) == value


def test_one_value_is_every_percentile() -> None:
    assert {percentile([3.0], percent) for percent in (1, 50, 99)} == {3.0}


def test_a_summary() -> None:
    assert summary(1000, 50_000, 2.0, [0.003, 0.001, 0.002]) == {
        "records": 1000,
        "bytes": 50_000,
        "seconds": 2.0,
        "records_per_s": 500.0,
        "bytes_per_s": 25_000.0,
        "p50_ms": 2.0,
        "p95_ms": 3.0,
        "p99_ms": 3.0,
        "max_ms": 3.0,
    }


def test_nothing_has_no_rate() -> None:
    nothing = summary(0, 0, 0.0, [])
    assert nothing["records_per_s"] is None
    assert nothing["p99_ms"] is None
