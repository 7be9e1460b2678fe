"""The demo's own arithmetic: that its comparison can fail, and that the input is what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compat_tests.harness.awaiting import eventually
from compat_tests.harness.process import BrokerProcess
from scripts.demo_job.data import DAY_MS, Flight, Hours, Totals, epoch_ms, expected_hours, flights
from scripts.demo_job.progress import Progress
from scripts.demo_job.report import differences, total
from scripts.demo_job.show import DemoError, _empty
from scripts.demo_job.topics import FlightPublisher, create_topics


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


def report(batch: int, rows: int, newest: str | None = None) -> dict[str, Any]:
    """A batch as Spark's progress report tells it."""
    times = {"eventTime": {"max": newest, "watermark": "2013-01-01T00:00:00.000Z"}} if newest else {}
    return {"batchId": batch, "numInputRows": rows, "stateOperators": [], **times}


def test_the_closing_record_is_not_counted_as_a_flight_nor_a_batch_twice() -> None:
    progress = Progress(closing_ms=epoch_ms("2014-01-30T05:00:00Z"))
    assert progress.flights_read == 0
    progress.add(report(0, 842, "2013-01-02T04:59:00.000Z"))
    progress.add(report(0, 842, "2013-01-02T04:59:00.000Z"))  # again, after a restart from the checkpoint
    assert progress.flights_read == 842
    progress.add(report(1, 101, "2014-01-30T05:00:00.000Z"))
    progress.add(report(2, 0))
    assert progress.flights_read == 942


def test_the_year_waits_for_a_reader_after_its_first_day(
    start_target: Callable[..., BrokerProcess], january: list[Flight]
) -> None:
    bootstrap = start_target().bootstrap
    create_topics(bootstrap)
    publisher = FlightPublisher(bootstrap, january, seconds=0.5)
    first_day = sum(flight.time_ms < january[0].time_ms + DAY_MS for flight in january)
    publisher.start()
    try:
        eventually(lambda: publisher.published, lambda published: published > 0)
        publisher.join(0.2)
        assert (publisher.published, publisher.finished) == (first_day, False)
        publisher.go_on()
        eventually(lambda: publisher.finished, bool)
        assert publisher.published == len(january)
        assert publisher.failure is None
    finally:
        publisher.stop()
        publisher.join()


def test_a_demo_keeps_the_result_of_the_other_one(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    _empty(folder, kept="delays.png")
    (folder / "checkpoint").mkdir()
    for name in ("delays.png", "profile.html", "spark.log"):
        (folder / name).touch()
    _empty(folder, kept="delays.png")
    assert sorted(each.name for each in folder.iterdir()) == [".demo", "delays.png"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine").touch()
    with pytest.raises(DemoError, match="is not empty and not from an earlier demo"):
        _empty(tmp_path / "other", kept="delays.png")
