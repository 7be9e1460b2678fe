import math

from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.timers import Timers


def test_fires_in_order_of_deadline_then_of_setting() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    fired: list[str] = []
    timers.after(20, lambda: fired.append("late"))
    timers.after(10, lambda: fired.append("first"))
    timers.after(10, lambda: fired.append("second"))
    clock.advance(10)
    timers.run_due()
    assert fired == ["first", "second"]
    clock.advance(10)
    timers.run_due()
    assert fired == ["first", "second", "late"]


def test_a_pause_is_over_when_its_time_has_passed() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    over = timers.pause(10)
    clock.advance(9)
    timers.run_due()
    assert not over.done
    clock.advance(1)
    timers.run_due()
    assert over.done
    assert over.error is None


def test_a_cancelled_timer_never_fires_and_is_no_deadline() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    timer = timers.after(10, pytest_fail)
    assert timers.next_deadline() is not None
    timer.cancel()
    assert timers.next_deadline() is None
    clock.advance(100)
    timers.run_due()


def pytest_fail() -> None:
    raise AssertionError("a cancelled timer fired")


def test_what_is_due_next_is_known_without_looking() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    known = [timers.next_due]
    for delay_ms in (50, 100, 10):
        timers.after(delay_ms, lambda: None)
        known.append(timers.next_due)
    for _ in range(3):
        clock.advance(50)
        timers.run_due()
        known.append(timers.next_due)
    assert known == [math.inf, 0.05, 0.05, 0.01, 0.1, math.inf, math.inf]


def test_a_failing_callback_does_not_stop_the_others(caplog) -> None:
    clock = ManualClock()
    timers = Timers(clock)
    fired: list[str] = []
    timers.after(1, lambda: 1 // 0)
    timers.after(2, lambda: fired.append("after"))
    clock.advance(5)
    timers.run_due()
    assert fired == ["after"]
    assert "Unhandled error in a timer" in caplog.text


def test_asks_to_be_woken_only_for_a_new_earliest_deadline() -> None:
    timers = Timers(ManualClock())
    asked: list[float] = []
    timers.wake_by(asked.append)
    timers.after(50, lambda: None)
    timers.after(100, lambda: None)
    timers.after(10, lambda: None)
    assert asked == [0.05, 0.01]


def test_cancelled_timers_do_not_pile_up() -> None:
    timers = Timers(ManualClock())
    keep = [timers.after(1_000_000, lambda: None) for _ in range(10)]
    for _ in range(10_000):
        timers.after(500, lambda: None).cancel()
    assert len(timers._heap) <= 200
    assert not any(timer.cancelled for timer in keep)


def test_sweeps_cost_no_more_than_the_timers_set() -> None:
    """After a sweep the heap must double before the next one: else every timer set would look at all others."""
    timers = Timers(ManualClock())
    for _ in range(1000):
        timers.after(1000, lambda: None)
    assert 1000 < timers._sweep_at <= 2000
