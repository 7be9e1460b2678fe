"""The newest values of clients' metrics: sums, bounds, and the end of a client."""

from __future__ import annotations

from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.timers import Timers
from pykbroker.telemetry.otlp import Kind, Point
from pykbroker.telemetry.received import SERIES_OF_A_CLIENT, ClientValues, ReceivedMetrics

LIFE_MS = 60_000


class Receiver:
    """Takes metrics by a clock that stands still."""

    def __init__(self, most: int = 10_000) -> None:
        self.clock = ManualClock()
        self.timers = Timers(self.clock)
        self.received = ReceivedMetrics(self.timers, most)

    def take(self, name: str, *points: Point) -> None:
        self.received.take(ClientValues(name, name, "test 1"), points, LIFE_MS)

    def advance(self, ms: int) -> None:
        self.clock.advance(ms)
        self.timers.run_due()

    def seen(self) -> dict[str, dict[str, tuple[float, bool]]]:
        return {
            each.instance_id: {name: value for (name, _), value in each.series.items()}
            for each in self.received.clients()
        }


def test_the_newest_value_stands_and_deltas_are_added_up() -> None:
    one = Receiver()
    for value in (1.0, 2.0):
        one.take(
            "c",
            Point("gauge", (), Kind.GAUGE, value),
            Point("total", (), Kind.TOTAL, value),
            Point("delta", (), Kind.DELTA, value),
        )
    assert one.seen() == {"c": {"gauge": (2.0, False), "total": (2.0, True), "delta": (3.0, True)}}


def test_a_client_that_pushes_no_more_is_forgotten() -> None:
    one = Receiver()
    one.take("a", Point("m", (), Kind.GAUGE, 1.0))
    one.advance(LIFE_MS - 1)
    one.take("b", Point("m", (), Kind.GAUGE, 1.0))
    one.advance(1)
    assert list(one.seen()) == ["b"]
    one.take("b", Point("m", (), Kind.GAUGE, 2.0))
    one.advance(LIFE_MS - 1)
    assert list(one.seen()) == ["b"]
    one.advance(1)
    assert (one.seen(), one.received.series) == ({}, 0)


def test_series_are_bounded_by_client_and_in_all() -> None:
    one = Receiver(most=SERIES_OF_A_CLIENT + 1)
    one.take("a", *(Point(f"m{number}", (), Kind.GAUGE, 1.0) for number in range(SERIES_OF_A_CLIENT + 5)))
    assert (len(one.seen()["a"]), one.received.dropped) == (SERIES_OF_A_CLIENT, 5)
    one.take("b", Point("m", (), Kind.GAUGE, 1.0), Point("n", (), Kind.GAUGE, 1.0))
    one.take("c", Point("m", (), Kind.GAUGE, 1.0))
    assert (list(one.seen()), one.received.dropped) == (["a", "b"], 7)
    one.take("b", Point("m", (), Kind.GAUGE, 2.0))
    assert one.seen()["b"] == {"m": (2.0, False)}


def test_a_client_without_a_series_is_not_kept() -> None:
    one = Receiver()
    one.take("a")
    assert one.seen() == {}
