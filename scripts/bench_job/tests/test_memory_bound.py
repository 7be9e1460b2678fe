"""The table of crowds: medians, and the ratios of pykbrokers."""

from __future__ import annotations

from scripts.bench_job.memory_bound import _LOADS, BOUND, BUDGET, FREE, KAFKA, Served, markdown


def test_rates_are_compared_with_those_without_a_bound() -> None:
    taken = {
        (load, name): [Served(seconds, 2.0, 40_000_000, 3)]
        for load in _LOADS
        for name, seconds in ((KAFKA, 4.0), (FREE, 9.0), (BUDGET, 9.5), (BOUND, 10.0))
    }
    table = markdown(taken)
    assert table.count("| 3 |") == 8
    assert table.count("in 128 MB 0.90 (0.90 to 0.90) of the rate without a bound, and 1.00 of the CPU time") == 2
    assert table.count("with the budget of 128 MB 0.95 (0.95 to 0.95) of the rate without a bound") == 2
