from __future__ import annotations

from pykbroker.lake.ledger import LakePartition
from pykbroker.lake.replay_progress import ReplayProgress
from pykbroker.runtime.clock import ManualClock

A0, A1 = LakePartition("a", 0), LakePartition("a", 1)


def test_what_is_left_is_from_the_first_positions_on() -> None:
    """Those that an earlier run left are no work of this one."""
    clock = ManualClock()
    course = ReplayProgress({A0: 1000, A1: 500}, clock.monotonic)
    assert course.line() == "0 offsets, 0 a second, 1,500 to go"
    clock.advance(60_000)
    assert course.seen({A0: 600}).line() == "0 offsets, 0 a second, 900 to go"
    clock.advance(2000)
    assert course.seen({A0: 1000, A1: 200}).line() == "600 offsets, 300 a second, 300 to go, 1 s left"
    assert course.seen({A0: 1000, A1: 510}).line().startswith("900 offsets, 450 a second, 0 to go")


def test_nothing_is_left_behind_the_last_row() -> None:
    """Markers, aborted records and rows that are filtered out have no row that could be sent."""
    clock = ManualClock()
    course = ReplayProgress({A0: 1000, A1: 500}, clock.monotonic)
    course.seen({A0: 900})
    course.aim({A0: 988}, {A0: 900})
    clock.advance(1000)
    assert course.seen({A0: 944}).line() == "44 offsets, 44 a second, 44 to go, 1 s left"
    assert course.seen({A0: 988}).line().startswith("88 offsets, 88 a second, 0 to go")
