"""Deadlines of a streams group: sessions, tasks to give up, and the wait for the first assignment."""

from __future__ import annotations

import math

from pykbroker.coordination.groups.streams.deadlines import StreamsDeadlines
from pykbroker.coordination.groups.streams.member import StreamsMember
from pykbroker.runtime.clock import ManualClock


def begun() -> tuple[ManualClock, StreamsDeadlines, StreamsMember]:
    clock = ManualClock()
    member = StreamsMember("m", epoch=3, rebalance_timeout_ms=10_000)
    return clock, StreamsDeadlines(clock), member


def test_a_session_ends_after_its_last_restart() -> None:
    clock, deadlines, member = begun()
    deadlines.restart_session("m", 5000)
    clock.advance(4000)
    deadlines.restart_session("m", 5000)
    clock.advance(4000)
    assert deadlines.due({"m": member}) == []
    clock.advance(1000)
    assert deadlines.due({"m": member}) == [(member, "the member session expired.")]


def test_who_gives_nothing_up_is_due_after_the_rebalance_timeout() -> None:
    clock, deadlines, member = begun()
    deadlines.expect_revocation(member)
    clock.advance(10000)
    (found,) = deadlines.due({"m": member})
    assert found[1] == "it failed to transition from epoch 3 within 10000ms."


def test_who_has_given_up_is_not_due() -> None:
    clock, deadlines, member = begun()
    deadlines.expect_revocation(member)
    deadlines.revoked("m")
    clock.advance(60000)
    assert deadlines.due({"m": member}) == []
    assert deadlines.wake_at == math.inf


def test_who_reached_another_epoch_is_not_due() -> None:
    clock, deadlines, member = begun()
    deadlines.expect_revocation(member)
    clock.advance(10000)
    assert deadlines.due({"m": StreamsMember("m", epoch=4, rebalance_timeout_ms=10_000)}) == []
    assert deadlines.wake_at == math.inf


def test_a_member_that_remains_is_due_again_soon() -> None:
    """The log could not be written."""
    clock, deadlines, member = begun()
    deadlines.restart_session("m", 1000)
    clock.advance(1000)
    assert len(deadlines.due({"m": member})) == 1
    assert deadlines.wake_at == clock.monotonic() + 0.5
    assert deadlines.due({"m": member}) == []
    clock.advance(500)
    assert len(deadlines.due({"m": member})) == 1


def test_a_member_that_is_gone_is_not_watched() -> None:
    clock, deadlines, member = begun()
    deadlines.restart_session("m", 1000)
    deadlines.forget("m")
    deadlines.restart_session("n", 1000)
    clock.advance(1000)
    assert deadlines.due({"m": member}) == []
    assert deadlines.wake_at == math.inf


def test_the_first_assignment_waits_once() -> None:
    clock, deadlines, _ = begun()
    assert not deadlines.waits_for_members
    deadlines.begin_initial_delay(1000)
    clock.advance(500)
    deadlines.begin_initial_delay(1000)  # a second member does not lengthen it
    assert not deadlines.initial_delay_is_over()
    clock.advance(500)
    assert deadlines.initial_delay_is_over()
    assert not deadlines.initial_delay_is_over()
    assert not deadlines.waits_for_members
