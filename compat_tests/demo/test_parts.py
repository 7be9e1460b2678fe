"""The demo's own arithmetic: that its comparison can fail, and that the input is what it says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scripts.demo_job.data import DAY_MS, Flight, Hours, Totals, expected_hours, flights
from scripts.demo_job.report import differences, total


@pytest.fixture(scope="module")
def january() -> list[Flight]:
    return flights(months=1)


@pytest.fixture(scope="module")
def hours(january: list[Flight]) -> Hours:
    return expected_hours(january)


def test_flights_come_in_the_order_of_their_departure(january: list[Flight]) -> None:
    times = [flight.time_ms for flight in january]
    assert times == sorted(times)
    assert len(january) == 27_004
    assert 30 * DAY_MS < times[-1] - times[0] < 31 * DAY_MS


def test_what_is_not_available_is_null_and_not_zero(january: list[Flight]) -> None:
    assert sum(flight.tailnum is None for flight in january) == 155
    assert sum(flight.dep_delay is None for flight in january) == 521


def test_totals_count_every_flight(january: list[Flight], hours: Hours) -> None:
    everything = total(hours)
    assert (everything.flights, everything.departed) == (27_004, 27_004 - 521)
    assert everything.delay_minutes == sum(flight.dep_delay or 0 for flight in january)


def test_the_comparison_sees_one_flight_too_few_one_hour_too_few_and_one_too_many(hours: Hours) -> None:
    assert differences(hours, dict(hours)) == []
    first, second, *_ = hours
    fewer = {**hours, first: replace(hours[first], flights=hours[first].flights - 1)}
    assert len(differences(hours, fewer)) == 1
    missing = {place: totals for place, totals in hours.items() if place != second}
    (line,) = differences(hours, missing)
    assert "the job gave None" in line
    (line,) = differences(hours, {**hours, (0, "EWR"): Totals(flights=1)})
    assert "the files give None" in line


def test_sums_of_totals_keep_the_worst_delay_and_its_absence() -> None:
    none, late = Totals(flights=1), Totals(flights=2, departed=2, delay_minutes=50, late=1, worst=45)
    assert (none + none).worst is None
    assert (none + late + none).worst == 45
    assert (none + late).mean_delay == 25
    assert none.mean_delay == 0
