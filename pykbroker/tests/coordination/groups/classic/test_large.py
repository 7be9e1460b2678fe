"""Thousands of members in one classic group, through all its states."""

from __future__ import annotations

from pykbroker.coordination.groups.classic.group import ClassicGroupState
from pykbroker.tests.coordination.groups.harness import SESSION_MS, Harness
from pykbroker.wire.errors import ErrorCode

MEMBERS = 3000


def test_a_group_of_thousands_lives_through_all_its_states():
    h = Harness()
    members = h.stable(MEMBERS)
    assert (h.group.generation, len(h.group.members)) == (1, MEMBERS)

    # One more: everybody is told, and joins again.
    newcomer, waiting = h.new_member()
    assert h.state is ClassicGroupState.PREPARING_REBALANCE
    assert h.heartbeat(members[-1]) is ErrorCode.REBALANCE_IN_PROGRESS
    h.settle({member: h.join(member) for member in members} | {newcomer: waiting})
    assert (h.group.generation, len(h.group.members)) == (2, MEMBERS + 1)

    # The newcomer and a thousand others fall silent; the rest go on without them.
    h.advance(SESSION_MS - 1)
    for member in members[1000:]:
        assert h.heartbeat(member) is ErrorCode.NONE
    h.advance(2)
    assert h.state is ClassicGroupState.PREPARING_REBALANCE
    h.settle({member: h.join(member) for member in members[1000:]})
    assert (h.group.generation, len(h.group.members)) == (3, MEMBERS - 1000)

    # A restart, then all leave at once.
    h.restart()
    assert (h.state, len(h.group.members)) == (ClassicGroupState.STABLE, MEMBERS - 1000)
    assert {member.error_code for member in h.leave(*members[1000:]).members} == {ErrorCode.NONE}
    assert h.state is ClassicGroupState.EMPTY


def test_the_largest_group_that_is_allowed():
    h = Harness(max_size=MEMBERS)
    h.stable(MEMBERS)
    assert h.join(h.join().value.member_id).value.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert len(h.group.members) == MEMBERS
