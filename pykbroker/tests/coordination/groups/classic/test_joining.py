"""Joining, assigning, and staying a member of a classic group."""

import pytest

from pykbroker.coordination.groups.classic.group import ClassicGroupState
from pykbroker.tests.coordination.groups.harness import REBALANCE_MS, SESSION_MS, Harness
from pykbroker.tests.kit.groups import SUBSCRIBED_TO_T
from pykbroker.wire.errors import ErrorCode

CHANGED = {"range": SUBSCRIBED_TO_T + b"\0"}


def test_the_first_member_is_given_an_id_and_leads_the_first_generation():
    h = Harness()
    first = h.join(client_id="app").value
    assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert first.member_id.startswith("app-")
    joining = h.join(first.member_id)
    assert not joining.done
    h.advance(0)
    answer = joining.value
    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 1, first.member_id)
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    assert [member.member_id for member in answer.members] == [first.member_id]
    assert h.state is ClassicGroupState.COMPLETING_REBALANCE


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_older_clients_join_without_coming_back_with_an_id(version):
    h = Harness()
    joining = h.join(version=version)
    h.advance(0)
    assert joining.value.error_code == 0
    assert joining.value.member_id == joining.value.leader


def test_everyone_gets_the_part_the_leader_assigned_whoever_asks_first():
    h = Harness()
    (a, joining_a), (b, joining_b) = h.new_member(), h.new_member()
    h.advance(0)
    assert joining_a.value.leader == joining_b.value.leader == a
    assert joining_b.value.members == []
    follower = h.sync(b)
    assert not follower.done
    leader = h.sync(a, {a: b"for a", b: b"for b"})
    assert (leader.value.assignment, follower.value.assignment) == (b"for a", b"for b")
    assert h.sync(b).value.assignment == b"for b", "asked again it is told again"


def test_a_member_whom_the_leader_forgot_gets_an_empty_assignment():
    h = Harness()
    (a, _), (b, _) = h.new_member(), h.new_member()
    h.advance(0)
    follower = h.sync(b)
    h.sync(a, {a: b"all"})
    assert follower.value.error_code == 0
    assert follower.value.assignment == b""


def test_a_newcomer_makes_the_others_join_again():
    h = Harness()
    (a,) = h.stable()
    b, joining_b = h.new_member()
    assert h.state is ClassicGroupState.PREPARING_REBALANCE
    assert h.heartbeat(a) == ErrorCode.REBALANCE_IN_PROGRESS
    assert not joining_b.done
    joining_a = h.join(a)
    assert joining_a.value.generation_id == joining_b.value.generation_id == 2
    assert joining_a.value.leader == a
    assert {member.member_id for member in joining_a.value.members} == {a, b}


def test_a_newcomer_while_the_assignment_is_computed_sends_everybody_back():
    h = Harness()
    (a, _), (b, _) = h.new_member(), h.new_member()
    h.advance(0)
    waiting = h.sync(b)
    h.new_member()
    assert waiting.value.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert h.sync(a, {a: b"x"}).value.error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_members_that_do_not_come_back_in_time_are_left_behind():
    h = Harness()
    a, b = h.stable(2)
    joining = h.join(b, protocols=CHANGED)
    for _ in range(REBALANCE_MS // 5000 - 1):
        h.advance(5000)
        assert h.heartbeat(a) == ErrorCode.REBALANCE_IN_PROGRESS
    assert not joining.done
    h.advance(5000)
    assert joining.value.leader == b
    assert h.heartbeat(a, generation=2) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_silent_member_is_dropped_and_the_rest_rebalance():
    h = Harness()
    a, b = h.stable(2)
    h.advance(SESSION_MS - 1)
    assert h.heartbeat(a) == ErrorCode.NONE
    h.advance(1)
    assert h.heartbeat(b) == ErrorCode.UNKNOWN_MEMBER_ID
    assert h.heartbeat(a) == ErrorCode.REBALANCE_IN_PROGRESS
    assert h.join(a).value.generation_id == 2


def test_the_last_member_to_fall_silent_leaves_an_empty_group():
    h = Harness()
    h.stable(2)
    h.advance(SESSION_MS)
    assert h.state is ClassicGroupState.EMPTY
    assert h.group.generation == 2
    assert h.group.protocol_type == "consumer"


def test_an_id_given_out_lapses_when_it_is_not_used():
    h = Harness()
    member_id = h.join().value.member_id
    h.advance(SESSION_MS)
    assert h.join(member_id).value.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_waits_for_an_id_that_was_given_out():
    h = Harness()
    (a,) = h.stable()
    pending = h.join().value.member_id
    joining = h.join(a, protocols=CHANGED)
    assert not joining.done
    assert h.leave(pending).members[0].error_code == 0
    assert joining.value.generation_id == 2


def test_a_follower_that_joins_again_unchanged_is_told_of_the_present_generation():
    h = Harness()
    a, b = h.stable(2)
    again = h.join(b).value
    assert (again.error_code, again.generation_id, again.leader, again.members) == (0, 1, a, [])
    assert h.state is ClassicGroupState.STABLE


def test_a_leader_that_joins_again_starts_a_rebalance():
    h = Harness()
    a, b = h.stable(2)
    joining = h.join(a)
    assert not joining.done
    assert h.join(b).value.generation_id == joining.value.generation_id == 2


def test_a_lost_answer_to_join_is_given_again():
    h = Harness()
    a, joining = h.new_member()
    h.advance(0)
    again = h.join(a)
    assert again.value.members == joining.value.members
    assert again.value.generation_id == 1


def test_a_second_join_of_one_member_takes_the_place_of_the_first():
    h = Harness()
    a, b = h.stable(2)
    first = h.join(a)
    second = h.join(a)
    assert first.value.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    h.join(b)
    assert second.value.error_code == 0


def test_a_member_that_waits_to_join_does_not_fall_silent():
    h = Harness()
    a, b = h.stable(2)
    waiting = h.join(a)
    for _ in range(4):
        h.advance(SESSION_MS - 1)
        h.heartbeat(b)
    assert not waiting.done
    assert a in h.group.members


def test_a_new_member_that_waits_too_long_is_dropped():
    h = Harness(new_member_join_timeout_ms=30_000)
    a, _ = h.stable(2)
    b, joining = h.new_member()
    for _ in range(30):
        h.advance(1000)
        h.heartbeat(a)
    assert joining.value.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert b not in h.group.members


def test_members_that_never_ask_for_their_assignment_are_dropped():
    h = Harness()
    (a, _), (b, _) = h.new_member(), h.new_member()
    h.advance(0)
    h.sync(a, {a: b"x", b: b"y"})
    for _ in range(REBALANCE_MS // 1000):
        h.advance(1000)
        h.heartbeat(a)
        h.heartbeat(b)
    assert b not in h.group.members
    assert h.heartbeat(a) == ErrorCode.REBALANCE_IN_PROGRESS


def test_the_first_rebalance_waits_for_its_delay_and_longer_while_members_come():
    h = Harness(initial_rebalance_delay_ms=3000)
    _, first = h.new_member()
    h.advance(2000)
    _, second = h.new_member()
    h.advance(1000)
    assert not first.done, "a second member came: another delay"
    h.advance(3000)
    assert first.value.generation_id == second.value.generation_id == 1
    assert len(h.group.members) == 2


def test_the_delay_never_exceeds_the_rebalance_timeout():
    h = Harness(initial_rebalance_delay_ms=3000)
    _, first = h.new_member(rebalance_ms=5000)
    h.advance(1500)
    h.new_member(rebalance_ms=5000)
    h.advance(1500)
    h.new_member(rebalance_ms=5000)
    h.advance(1999)
    assert not first.done
    h.advance(1)
    assert first.done


def test_the_protocol_with_most_votes_among_the_common_ones_is_chosen():
    h = Harness()
    one = h.new_member(protocols={"sticky": b"1", "range": b"2"})
    two = h.new_member(protocols={"range": b"3", "sticky": b"4", "own": b"5"})
    three = h.new_member(protocols={"range": b"6", "sticky": b"7"})
    h.advance(0)
    assert {reply.value.protocol_name for _, reply in (one, two, three)} == {"range"}
    assert [member.metadata for member in one[1].value.members] == [b"2", b"3", b"6"]


@pytest.mark.parametrize(
    "options",
    [{"protocol_type": "connect"}, {"protocols": {"other": b""}}, {"protocols": {}}],
)
def test_who_shares_no_protocol_with_the_group_is_refused(options):
    h = Harness()
    h.stable()
    assert h.join(**options).value.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("options", [{"protocol_type": ""}, {"protocols": {}}])
def test_an_empty_group_wants_a_protocol_too(options):
    h = Harness()
    assert h.join(**options).value.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_group_max_size():
    h = Harness(max_size=2)
    h.stable(2)
    refused = h.join().value
    assert (refused.error_code, refused.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")


def test_a_group_over_capacity_rebalances_after_a_restart_and_the_last_to_come_goes():
    h = Harness()
    members = h.stable(3)
    h.settings.max_size = 2
    h.restart()
    assert h.state is ClassicGroupState.PREPARING_REBALANCE
    joins = [h.join(member) for member in members]
    assert [join.value.error_code for join in joins] == [0, 0, ErrorCode.GROUP_MAX_SIZE_REACHED]


def test_leaving():
    h = Harness()
    a, b = h.stable(2)
    assert h.leave(b).members[0].error_code == 0
    assert h.heartbeat(a) == ErrorCode.REBALANCE_IN_PROGRESS
    assert h.leave(b).members[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert h.leave(a).members[0].error_code == 0
    assert h.state is ClassicGroupState.EMPTY


def test_leaving_while_waiting_answers_what_waits():
    h = Harness()
    a, b = h.stable(2)
    waiting = h.join(a)
    h.leave(a)
    assert waiting.value.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert h.join(b).value.leader == b


def test_a_leader_that_leaves_is_succeeded():
    h = Harness()
    a, b = h.stable(2)
    h.leave(a)
    assert h.join(b).value.leader == b


def test_errors_of_sync_and_heartbeat():
    h = Harness()
    assert h.heartbeat("x") == ErrorCode.UNKNOWN_MEMBER_ID
    assert h.sync("x").value.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    (a,) = h.stable()
    assert h.heartbeat("x") == ErrorCode.UNKNOWN_MEMBER_ID
    assert h.heartbeat(a, generation=7) == ErrorCode.ILLEGAL_GENERATION
    assert h.heartbeat(a, instance_id="nobody") == ErrorCode.UNKNOWN_MEMBER_ID
    assert h.sync("x").value.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert h.sync(a, generation=7).value.error_code == ErrorCode.ILLEGAL_GENERATION
    assert h.sync(a, protocol_type="connect").value.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert h.sync(a, protocol_name="sticky").value.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert h.sync(a, protocol_type="consumer", protocol_name="range").value.error_code == 0


def test_a_lost_assignment_is_told_to_all_and_the_group_starts_over():
    h = Harness()
    (a, _), (b, _) = h.new_member(), h.new_member()
    h.advance(0)
    follower = h.sync(b)
    h.append_error = ErrorCode.NOT_COORDINATOR
    leader = h.sync(a, {a: b"x", b: b"y"})
    assert leader.value.error_code == follower.value.error_code == ErrorCode.NOT_COORDINATOR
    assert h.state is ClassicGroupState.PREPARING_REBALANCE
    assert h.join(a).done is False
    assert h.join(b).value.error_code == 0


def test_a_group_that_cannot_be_recorded_is_not_made():
    h = Harness()
    h.append_error = ErrorCode.NOT_COORDINATOR
    assert h.join().value.error_code == ErrorCode.NOT_COORDINATOR
    assert h.shard.groups == {}


def test_joining_with_an_id_that_nobody_gave():
    h = Harness()
    assert h.join("made-up").value.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    h.stable()
    assert h.join("made-up").value.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_stable_group_survives_a_restart():
    h = Harness()
    a, b = h.stable(2)
    h.restart()
    assert h.state is ClassicGroupState.STABLE
    assert h.heartbeat(a) == h.heartbeat(b) == ErrorCode.NONE
    assert h.sync(b).value.assignment == b.encode()
    h.advance(SESSION_MS)
    assert h.state is ClassicGroupState.EMPTY, "sessions are watched after a restart too"


def test_a_member_that_changed_its_mind_is_restored_as_it_was_last():
    h = Harness()
    (a,) = h.stable(protocols={"sticky": SUBSCRIBED_TO_T, "range": SUBSCRIBED_TO_T})
    joining = h.join(a, protocols={"range": SUBSCRIBED_TO_T})
    h.settle({a: joining})
    h.restart()
    assert h.group.protocol == "range"
    assert h.group.members[a].metadata("range") == SUBSCRIBED_TO_T
