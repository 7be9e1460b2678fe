"""Which requests renew the session of a member. Apache Kafka says the same (compat_tests/oracle/test_sessions_of_members.py)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pykbroker.coordination.groups.classic.group import ClassicGroupState
from pykbroker.tests.coordination.groups.harness import REBALANCE_MS, SESSION_MS, Harness
from pykbroker.wire.errors import ErrorCode

#: The sessions of the others, who send nothing.
LONG_MS = 100 * SESSION_MS
STEP_MS = SESSION_MS // 4

Request = Callable[[Harness, str], object]


def beat(h: Harness, member: str) -> ErrorCode:
    return h.heartbeat(member)


def beat_of_an_old_generation(h: Harness, member: str) -> ErrorCode:
    return h.heartbeat(member, generation=h.group.generation - 1)


def join(h: Harness, member: str) -> object:
    return h.join(member)


def sync(h: Harness, member: str) -> object:
    return h.sync(member)


def commit(h: Harness, member: str) -> ErrorCode:
    return h.commit({("t", 0): 5}, member, h.group.generation)


def commit_of_an_old_generation(h: Harness, member: str) -> ErrorCode:
    return h.commit({("t", 0): 5}, member, h.group.generation - 1)


def nothing(h: Harness, member: str) -> None:
    pass


def completing(h: Harness) -> str:
    """Returns a follower in a group whose leader has not sent the assignment yet."""
    leader, first = h.new_member(session_ms=LONG_MS)
    h.advance(h.settings.initial_rebalance_delay_ms)
    h.settle({leader: first})
    follower, _ = h.new_member()
    h.join(leader, session_ms=LONG_MS)
    assert h.state is ClassicGroupState.COMPLETING_REBALANCE
    return follower


def stable(h: Harness) -> str:
    follower = completing(h)
    leader = h.group.members.leader
    assert leader is not None
    waiting = h.sync(follower)
    h.sync(leader, {leader: b"", follower: b""})
    assert waiting.value.error_code == 0
    assert h.state is ClassicGroupState.STABLE
    return follower


def preparing(h: Harness) -> str:
    follower = stable(h)
    h.new_member(session_ms=LONG_MS)
    assert h.state is ClassicGroupState.PREPARING_REBALANCE
    return follower


RENEWED = [(completing, beat), (stable, beat), (preparing, beat), (stable, commit), (preparing, commit)]
NOT_RENEWED = [
    *[(state, nothing) for state in (completing, stable, preparing)],
    *[(state, beat_of_an_old_generation) for state in (completing, stable, preparing)],
    *[(state, commit_of_an_old_generation) for state in (completing, stable, preparing)],
    (completing, join),
    (completing, commit),
    (stable, join),
    (stable, sync),
    (preparing, sync),
]


def is_member_after_its_session(state: Callable[[Harness], str], request: Request) -> bool:
    """Whether it still is a member, having sent one request a quarter of a session for longer than the session."""
    h = Harness()
    member = state(h)
    for _ in range(6):
        assert 6 * STEP_MS < REBALANCE_MS
        h.advance(STEP_MS)
        if member in h.group.members:
            request(h, member)
    return member in h.group.members


@pytest.mark.parametrize(("state", "request_"), RENEWED)
def test_requests_that_renew_a_session(state, request_):
    assert is_member_after_its_session(state, request_)


@pytest.mark.parametrize(("state", "request_"), NOT_RENEWED)
def test_requests_that_do_not(state, request_):
    assert not is_member_after_its_session(state, request_)
