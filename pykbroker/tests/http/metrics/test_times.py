"""Times as counts: quantiles, buckets, and the last minute."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.http.metrics.times import BOUNDS_S, Times, quantiles, within


@given(st.lists(st.integers(0, 2**34), min_size=1, max_size=200), st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_a_quantile_is_known_to_an_eighth_of_itself(microseconds: list[int], part: float) -> None:
    times = Times()
    for each in microseconds:
        times.note(each / 1_000_000)
    exact = sorted(microseconds)[max(ceil(part * len(microseconds)) - 1, 0)]
    (found_s,) = quantiles(times.counts, [part])
    found = found_s * 1_000_000
    assert exact < found + 1e-6
    assert found <= exact * 1.125 + 1.001


@given(st.lists(st.integers(0, 2**26), max_size=200))
def test_buckets_count_what_is_not_above_their_bounds(microseconds: list[int]) -> None:
    times = Times()
    for each in microseconds:
        times.note((each + 0.5) / 1_000_000)
    counted = within(times.counts)
    assert counted == [sum(each + 0.5 <= bound * 1_000_000 for each in microseconds) for bound in BOUNDS_S]
    assert times.count == len(microseconds)


def test_there_are_no_quantiles_of_nothing() -> None:
    with pytest.raises(ValueError, match="no durations"):
        quantiles(Times().counts, [0.5])


def test_whatever_takes_longer_than_a_day_counts_as_the_longest() -> None:
    times = Times()
    times.note(1e9)
    assert list(quantiles(times.counts, [1.0])) == [pytest.approx(times.longest(100.0))]
    assert times.longest(100.0) > 24 * 3600


def test_quantiles_are_of_the_last_one_to_two_minutes_and_sums_of_all() -> None:
    times = Times()
    times.note(8.0)
    assert times.longest(1000.0) > 8
    times.note(0.001)
    assert times.longest(1059.0) > 8  # less than a minute ago
    assert times.longest(1060.0) < 0.002
    times.note(0.002)
    assert 0.002 < times.longest(1119.0) < 0.003
    assert sum(times.recent(1119.0)) == 2
    assert times.longest(1500.0) < 0.003  # nobody looked for long: what came since they did last
    assert times.longest(1600.0) == 0
    assert (times.count, times.sum_s) == (3, 8.003)
