"""Committed offsets: who may commit, what is remembered, when it is forgotten."""

import pytest

from pykbroker.coordination.groups.classic.group import ClassicGroupState
from pykbroker.coordination.groups.kinds import Kinds
from pykbroker.tests.coordination.groups.harness import SESSION_MS, Harness
from pykbroker.tests.kit.cluster import GROUP
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.txn_offset_commit import TxnOffsetCommitRequest

DAY_MS = 24 * 60 * 60 * 1000


def test_anybody_may_commit_for_a_group_without_members():
    h = Harness()
    assert h.commit({("t", 0): 5, ("u", 3): 7}, metadata="by hand") == ErrorCode.NONE
    assert h.committed() == {("t", 0): (5, "by hand"), ("u", 3): (7, "by hand")}


def test_offsets_survive_a_restart():
    h = Harness()
    h.commit({("t", 0): 5})
    h.commit({("t", 0): 6})
    h.restart()
    assert h.committed() == {("t", 0): (6, "")}


def test_what_was_never_committed_is_minus_one():
    h = Harness()
    assert h.fetch("t", 0) == -1
    assert h.committed() == {}


@pytest.mark.parametrize("generation", [0, 3])
@pytest.mark.parametrize(("version", "code"), [(8, "ILLEGAL_GENERATION"), (9, "GROUP_ID_NOT_FOUND")])
def test_a_member_of_a_group_that_does_not_exist(version, code, generation):
    h = Harness()
    assert h.commit({("t", 0): 5}, "someone", generation, version=version).name == code
    assert h.shard.groups == {}


def test_members_commit_under_their_generation():
    h = Harness()
    (a,) = h.stable()
    assert h.commit({("t", 0): 5}, a, 1) == ErrorCode.NONE
    assert h.commit({("t", 0): 6}, a, 2) == ErrorCode.ILLEGAL_GENERATION
    assert h.commit({("t", 0): 6}, "x", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert h.commit({("t", 0): 6}, a, 1, instance_id="i") == ErrorCode.UNKNOWN_MEMBER_ID
    assert h.commit({("t", 0): 6}) == ErrorCode.UNKNOWN_MEMBER_ID
    assert h.commit({("t", 0): 6}, a) == ErrorCode.ILLEGAL_GENERATION
    assert h.fetch("t", 0) == 5


@pytest.mark.parametrize(
    ("member", "generation", "code"),
    [
        ("", -1, ErrorCode.NONE),
        ("a", 1, ErrorCode.NONE),
        ("", 0, ErrorCode.UNKNOWN_MEMBER_ID),
        ("a", -1, ErrorCode.ILLEGAL_GENERATION),
        ("a", 0, ErrorCode.ILLEGAL_GENERATION),
        ("a", 2, ErrorCode.ILLEGAL_GENERATION),
        ("x", 1, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_commit_in_a_transaction_of_a_group_with_a_member(member, generation, code):
    """Versions before 3 name neither member nor generation, and are taken at their word."""
    h = Harness()
    (a,) = h.stable()
    request = TxnOffsetCommitRequest(
        group_id=GROUP, generation_id_or_member_epoch=generation, member_id=a if member == "a" else member
    )
    assert refusal(h.group, request) is code


@pytest.mark.parametrize(("generation", "code"), [(-1, ErrorCode.NONE), (0, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_a_commit_in_a_transaction_of_a_group_that_does_not_exist(generation, code):
    assert refusal(None, TxnOffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=generation)) is code


def refusal(group, request) -> ErrorCode:
    try:
        Kinds().of(group).check_commit_in_transaction(group, request)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def test_a_member_may_commit_while_the_others_join_but_not_while_the_leader_computes():
    h = Harness()
    a, b = h.stable(2)
    h.join(a)
    assert h.commit({("t", 0): 5}, b, 1) == ErrorCode.NONE
    h.join(b)
    assert h.state is ClassicGroupState.COMPLETING_REBALANCE
    assert h.commit({("t", 0): 6}, b, 2) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_commit_is_a_sign_of_life():
    h = Harness()
    (a,) = h.stable()
    for _ in range(3):
        h.advance(SESSION_MS - 1)
        assert h.commit({("t", 0): 5}, a, 1) == ErrorCode.NONE
    assert h.state is ClassicGroupState.STABLE


def test_metadata_has_a_limit_counted_as_java_counts():
    h = Harness(offset_metadata_max_bytes=4)
    assert h.commit({("t", 0): 5}, metadata="abcd") == ErrorCode.NONE
    assert h.commit({("t", 0): 6}, metadata="abcde") == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert h.commit({("t", 1): 6}, metadata="äöüß") == ErrorCode.NONE
    assert h.commit({("t", 2): 6}, metadata="\N{GRINNING FACE}" * 3) == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert h.committed() == {("t", 0): (5, "abcd"), ("t", 1): (6, "äöüß")}


def test_no_metadata_is_remembered_as_an_empty_one():
    h = Harness()
    h.commit({("t", 0): 5}, metadata=None)
    assert h.committed() == {("t", 0): (5, "")}


def test_an_offset_committed_for_another_topic_of_the_same_name_is_not_given():
    h = Harness()
    first, second = b"1" * 16, b"2" * 16
    h.commit({("t", 0): 5}, topic_id=first)
    assert h.fetch("t", 0, topic_id=first) == 5
    assert h.fetch("t", 0, topic_id=second) == -1
    assert h.fetch("t", 0) == 5, "who asks by name does not say which"


def test_a_deleted_topic_takes_its_offsets_along():
    h = Harness()
    h.commit({("t", 0): 5}, topic_id=b"1" * 16)
    h.commit({("t", 1): 5}, topic_id=b"2" * 16)
    h.commit({("t", 2): 5, ("u", 0): 5})
    h.forget(h.shard.forget_topic("t", b"1" * 16))
    assert h.committed() == {("t", 1): (5, ""), ("u", 0): (5, "")}
    h.restart()
    assert h.committed() == {("t", 1): (5, ""), ("u", 0): (5, "")}


def test_a_commit_that_cannot_be_recorded_is_not_remembered():
    h = Harness()
    h.append_error = ErrorCode.NOT_COORDINATOR
    assert h.commit({("t", 0): 5}) == ErrorCode.NOT_COORDINATOR
    assert h.committed() == {}


# OffsetDelete and DeleteGroups


def test_offsets_are_deleted_one_by_one():
    h = Harness()
    h.commit({("t", 0): 5, ("t", 1): 6})
    assert h.delete_offset("t", 0) == ErrorCode.NONE
    assert h.delete_offset("t", 9) == ErrorCode.NONE
    h.restart()
    assert h.committed() == {("t", 1): (6, "")}


def test_consumers_keep_the_offsets_of_topics_that_they_read():
    h = Harness()
    (a,) = h.stable()
    h.commit({("t", 0): 5, ("u", 0): 6}, a, 1)
    assert h.delete_offset("t", 0) == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    assert h.delete_offset("u", 0) == ErrorCode.NONE
    assert h.committed() == {("t", 0): (5, "")}


def test_offsets_of_other_kinds_of_groups_are_kept_while_they_have_members():
    h = Harness()
    h.stable(protocol_type="connect")
    assert h.delete_offset("t", 0) == ErrorCode.NON_EMPTY_GROUP
    assert Harness().delete_offset("t", 0) == ErrorCode.GROUP_ID_NOT_FOUND


def test_groups_are_deleted_with_their_offsets():
    h = Harness()
    assert h.delete_group() == ErrorCode.GROUP_ID_NOT_FOUND
    (a,) = h.stable()
    h.commit({("t", 0): 5}, a, 1)
    assert h.delete_group() == ErrorCode.NON_EMPTY_GROUP
    h.leave(a)
    assert h.delete_group() == ErrorCode.NONE
    assert (h.shard.groups, h.committed()) == ({}, {})
    h.restart()
    assert (h.shard.groups, h.committed()) == ({}, {})


# Expiry


def test_offsets_without_a_group_age_from_their_commit():
    h = Harness(offsets_retention_ms=7 * DAY_MS)
    h.commit({("t", 0): 5})
    h.advance(3 * DAY_MS)
    h.commit({("t", 1): 5})
    h.advance(4 * DAY_MS)
    h.forget(h.shard.expire())
    assert h.committed() == {("t", 1): (5, "")}
    h.advance(3 * DAY_MS)
    h.forget(h.shard.expire())
    assert h.shard.groups == {}, "a group with nothing left is forgotten"


def test_offsets_of_a_group_age_from_when_it_became_empty():
    h = Harness(offsets_retention_ms=7 * DAY_MS)
    (a,) = h.stable()
    h.commit({("t", 0): 5}, a, 1)
    for _ in range(8 * DAY_MS // 3_600_000):
        h.advance(SESSION_MS - 1)
        h.clock.advance(3_600_000)
        assert h.heartbeat(a) == ErrorCode.NONE
    h.forget(h.shard.expire())
    assert h.committed() == {("t", 0): (5, "")}, "its members still read the topic"
    h.leave(a)
    h.advance(7 * DAY_MS - 1)
    h.forget(h.shard.expire())
    assert h.committed() == {("t", 0): (5, "")}
    h.advance(1)
    h.forget(h.shard.expire())
    assert GROUP not in h.shard.groups


def test_a_stable_group_forgets_what_it_reads_no_more():
    h = Harness(offsets_retention_ms=DAY_MS)
    (a,) = h.stable()
    h.commit({("t", 0): 5, ("u", 0): 5}, a, 1)
    h.clock.advance(DAY_MS)
    h.heartbeat(a)
    h.forget(h.shard.expire())
    assert h.committed() == {("t", 0): (5, "")}


def test_a_group_whose_subscriptions_are_not_known_forgets_nothing():
    h = Harness(offsets_retention_ms=DAY_MS)
    (a,) = h.stable(protocols={"range": b"\0\0unreadable"})
    h.commit({("t", 0): 5}, a, 1)
    h.clock.advance(DAY_MS)
    h.heartbeat(a)
    h.forget(h.shard.expire())
    assert h.committed() == {("t", 0): (5, "")}


def test_a_commit_may_say_how_long_to_keep_it():
    h = Harness(offsets_retention_ms=DAY_MS)
    h.commit({("t", 0): 5}, retention_ms=1000, version=4)
    h.restart()
    h.advance(999)
    h.forget(h.shard.expire())
    assert h.fetch("t", 0) == 5
    h.advance(1)
    h.forget(h.shard.expire())
    assert h.fetch("t", 0) == -1


def test_a_commit_may_ask_to_be_kept_for_ever():
    h = Harness(offsets_retention_ms=DAY_MS)
    assert h.commit({("t", 0): 5}, retention_ms=2**63 - 1, version=4) == ErrorCode.NONE
    h.advance(100 * DAY_MS)
    h.forget(h.shard.expire())
    assert h.fetch("t", 0) == 5


def test_a_new_group_is_forgotten_when_nobody_joins_it():
    h = Harness()
    h.join()
    h.forget(h.shard.expire())
    assert h.shard.groups == {}
