"""Static members (KIP-345): they come back under their instance id, and nobody rebalances for it."""

import pytest

from pykbroker.coordination.groups.classic.group import ClassicGroupState
from pykbroker.tests.coordination.groups.harness import REBALANCE_MS, SESSION_MS, Harness
from pykbroker.tests.kit.groups import SUBSCRIBED_TO_T
from pykbroker.wire.errors import ErrorCode


def static_pair(h: Harness) -> tuple[str, str]:
    """A stable group of the static members i1, who leads, and i2."""
    joins = [h.join(instance_id="i1"), h.join(instance_id="i2")]
    h.advance(0)
    one, two = (join.value.member_id for join in joins)
    h.settle({one: joins[0], two: joins[1]})
    return one, two


def test_a_static_member_is_not_sent_back_for_its_id():
    h = Harness()
    joining = h.join(instance_id="i1")
    h.advance(0)
    assert joining.value.error_code == 0
    assert joining.value.member_id.startswith("i1-")


def test_a_follower_that_returns_finds_its_assignment():
    h = Harness()
    one, two = static_pair(h)
    back = h.join(instance_id="i2").value
    assert (back.error_code, back.generation_id, back.leader, back.skip_assignment) == (0, 1, one, False)
    assert back.member_id != two
    assert h.sync(back.member_id, instance_id="i2").value.assignment == two.encode()
    assert h.state is ClassicGroupState.STABLE
    assert h.heartbeat(two, instance_id="i2") == ErrorCode.FENCED_INSTANCE_ID
    assert h.heartbeat(two) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_leader_that_returns_skips_its_assignment_from_version_9():
    h = Harness()
    _, two = static_pair(h)
    back = h.join(instance_id="i1").value
    assert back.leader == back.member_id
    assert back.skip_assignment
    assert {member.member_id for member in back.members} == {back.member_id, two}


@pytest.mark.parametrize("version", [5, 6, 7, 8])
def test_an_older_leader_that_returns_is_not_told_that_it_leads(version):
    h = Harness()
    one, _ = static_pair(h)
    back = h.join(instance_id="i1", version=version).value
    assert (back.error_code, back.leader, back.members) == (0, one, [])
    assert back.member_id != one


def test_the_return_survives_a_restart():
    h = Harness()
    static_pair(h)
    back = h.join(instance_id="i2").value
    h.restart()
    assert h.heartbeat(back.member_id, instance_id="i2") == ErrorCode.NONE


def test_a_return_that_cannot_be_recorded_leaves_all_as_it_was():
    h = Harness()
    one, _ = static_pair(h)
    h.append_error = ErrorCode.NOT_COORDINATOR
    assert h.join(instance_id="i1").value.error_code == ErrorCode.NOT_COORDINATOR
    assert h.heartbeat(one, instance_id="i1") == ErrorCode.NONE
    assert h.group.members.leader == one
    assert h.sync(one, instance_id="i1").value.assignment == one.encode()


def test_a_return_that_changes_the_chosen_protocol_rebalances():
    h = Harness()
    both = {"range": SUBSCRIBED_TO_T, "sticky": SUBSCRIBED_TO_T}
    joins = [h.join(instance_id="i1", protocols=both), h.join(instance_id="i2", protocols=both)]
    h.advance(0)
    one, two = (join.value.member_id for join in joins)
    h.settle({one: joins[0], two: joins[1]})
    back = h.join(instance_id="i2", protocols={"sticky": SUBSCRIBED_TO_T})
    assert not back.done
    again = h.join(one, instance_id="i1", protocols=both)
    assert again.value.protocol_name == back.value.protocol_name == "sticky"


def test_who_still_waits_under_the_old_id_is_fenced():
    h = Harness()
    one, _ = static_pair(h)
    waiting = h.join(one, instance_id="i1")
    h.join(instance_id="i1")
    assert waiting.value.error_code == ErrorCode.FENCED_INSTANCE_ID


def test_a_return_while_the_assignment_is_computed_rebalances():
    h = Harness()
    joins = [h.join(instance_id="i1"), h.join(instance_id="i2")]
    h.advance(0)
    two = joins[1].value.member_id
    waiting = h.sync(two, instance_id="i2")
    h.join(instance_id="i2")
    assert waiting.value.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert h.state is ClassicGroupState.PREPARING_REBALANCE


def test_a_static_member_keeps_its_place_until_its_session_ends():
    h = Harness()
    one, two = static_pair(h)
    joining = h.join(one, instance_id="i1")
    h.advance(SESSION_MS - 1)
    assert not joining.done
    h.advance(1)
    assert joining.value.generation_id == 2
    assert two not in h.group.members


def test_a_rebalance_that_only_static_members_missed_goes_on_without_them():
    h = Harness()
    one, two = static_pair(h)
    joining = h.join(one, instance_id="i1", rebalance_ms=5000)
    for _ in range(REBALANCE_MS // 5000):
        h.advance(5000)
        h.heartbeat(two, instance_id="i2")
    assert {member.member_id for member in joining.value.members} == {one, two}


def test_when_no_static_member_joins_the_group_waits_on():
    h = Harness()
    static_pair(h)
    dynamic = h.join().value.member_id
    joining = h.join(dynamic)
    h.leave(dynamic)
    assert joining.value.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert h.state is ClassicGroupState.PREPARING_REBALANCE
    h.advance(SESSION_MS)
    assert h.state is ClassicGroupState.EMPTY


def test_leaving_by_instance_id():
    h = Harness()
    one, two = static_pair(h)
    answers = h.leave(("", "i2"), ("", "nobody"), (one, "i2"), ("wrong", "i1"), ("", None)).members
    assert [ErrorCode(answer.error_code).name for answer in answers] == [
        "NONE",
        "UNKNOWN_MEMBER_ID",
        "UNKNOWN_MEMBER_ID",
        "FENCED_INSTANCE_ID",
        "UNKNOWN_MEMBER_ID",
    ]
    assert two not in h.group.members
    assert one in h.group.members


def test_an_instance_id_that_nobody_has():
    h = Harness()
    one, _ = static_pair(h)
    assert h.join(one, instance_id="i9").value.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert h.join(one, instance_id="i2").value.error_code == ErrorCode.FENCED_INSTANCE_ID
