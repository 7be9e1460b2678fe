"""Which instances of clients are known, and until when; what they may is in ``test_manager.py``."""

from __future__ import annotations

from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.timers import Timers
from pykbroker.telemetry.instances import ClientInstance, ClientInstances
from pykbroker.telemetry.subscriptions import Subscribed


def instance(number: int, interval_ms: int = 1000) -> ClientInstance:
    return ClientInstance(bytes([number]) * 16, {}, Subscribed([], interval_ms), 0, 0)


def test_an_instance_is_known_for_three_intervals_and_a_minute_at_least() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    known = ClientInstances(timers)
    often, rarely = instance(1), instance(2, 30_000)
    for each in (often, rarely):
        known.put(each)
        known.keep(each)
    for ms, left in ((59_999, 2), (1, 1), (29_999, 1), (1, 0)):
        clock.advance(ms)
        timers.run_due()
        assert len(known) == left


def test_the_one_that_has_not_asked_for_the_longest_time_makes_room() -> None:
    known = ClientInstances(Timers(ManualClock()), most=2)
    for number in (1, 2):
        known.put(instance(number))
    assert known.get(bytes([1]) * 16) is not None
    known.put(instance(3))
    assert [known.get(bytes([number]) * 16) is not None for number in (1, 2, 3)] == [True, False, True]
