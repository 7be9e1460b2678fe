"""Which member epochs may commit and fetch, how offsets of consumer groups age, and what OffsetDelete leaves."""

import pytest

from pykbroker.tests.coordination.groups.consumer.harness import Client, ConsumerHarness, settle
from pykbroker.tests.kit.cluster import GROUP
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

NONE, STALE, UNKNOWN = ErrorCode.NONE, ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID
DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture
def h() -> ConsumerHarness:
    """ "one" has t-0 since epoch 2, "two" has t-1 since epoch 3."""
    harness = ConsumerHarness()
    harness.topic("t", 2)
    one, two = Client(harness, "one", "t"), Client(harness, "two", "t")
    one.beat()
    settle(one, two)
    assert (one.owned, two.owned) == ({("t", 0)}, {("t", 1)})
    return harness


@pytest.mark.parametrize(
    ("member_id", "epoch", "partition", "code"),
    [
        ("one", 3, 0, NONE),
        ("one", 3, 1, NONE),
        ("one", 2, 0, NONE),
        ("one", 1, 0, STALE),
        ("one", 2, 1, STALE),
        ("one", 4, 0, STALE),
        ("one", -1, 0, STALE),
        ("two", 3, 1, NONE),
        ("two", 2, 1, STALE),
        ("", -1, 0, UNKNOWN),
        ("nobody", 3, 0, UNKNOWN),
    ],
)
def test_commits(h, member_id, epoch, partition, code):
    topic_id = h.around.topic_id("t")
    assert h.commit({("t", partition): 7}, member_id, epoch, topic_id=topic_id) is code


def test_members_must_say_their_epoch(h):
    assert h.commit({("t", 0): 7}, "one", 3, version=8) is ErrorCode.UNSUPPORTED_VERSION


def test_an_empty_group_takes_commits_of_anybody(h):
    for member in ("one", "two"):
        h.beat(member, -1)
    assert h.commit({("t", 0): 7}) is NONE


@pytest.mark.parametrize(
    ("member_id", "epoch", "code"),
    [
        ("one", 3, None),
        ("one", 2, None),
        ("one", 4, STALE),
        ("one", 1, STALE),
        ("nobody", 3, UNKNOWN),
        ("", -1, None),
    ],
)
def test_commits_in_transactions(h, member_id, epoch, code):
    topics = [TxnOffsetCommitRequestTopic("t", partitions=[TxnOffsetCommitRequestPartition(0, 7, -1, "")])]
    request = TxnOffsetCommitRequest("txn", GROUP, 1, 0, epoch, member_id, None, topics)
    if code is None:
        assert h.shard.commit_in_transaction(request).outcome.records
    else:
        with pytest.raises(KafkaError) as refused:
            h.shard.commit_in_transaction(request)
        assert refused.value.code is code


@pytest.mark.parametrize(
    ("member_id", "epoch", "code"),
    [(None, -1, None), ("one", 3, None), ("one", 2, STALE), ("one", 4, STALE), ("nobody", 3, UNKNOWN)],
)
def test_fetches(h, member_id, epoch, code):
    request = OffsetFetchRequestGroup(GROUP, member_id, epoch, None)
    if code is None:
        assert h.shard.fetch(request).error_code == 0
    else:
        with pytest.raises(KafkaError) as refused:
            h.shard.fetch(request)
        assert refused.value.code is code


def test_offsets_of_topics_that_are_read_cannot_be_deleted(h):
    h.commit({("t", 0): 7}, "one", 3)
    assert h.delete_offset("t", 0) is ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    for member in ("one", "two"):
        h.beat(member, -1)
    assert h.delete_offset("t", 0) is NONE
    assert h.committed() == {}


def test_offsets_age_from_their_commit_unless_their_topic_is_read(h):
    h.commit({("t", 0): 7, ("u", 0): 7}, "one", 3)
    h.clock.advance(7 * DAY_MS)
    h.forget(h.shard.expire())
    assert h.committed() == {("t", 0): (7, "")}


def test_an_empty_group_goes_with_its_last_offset(h):
    h.commit({("t", 0): 7}, "one", 3)
    for member in ("one", "two"):
        h.beat(member, -1)
    h.clock.advance(7 * DAY_MS - 1)
    h.forget(h.shard.expire())
    assert GROUP in h.shard.groups
    h.clock.advance(1)
    h.forget(h.shard.expire())
    assert GROUP not in h.shard.groups
    h.restart()
    assert h.shard.groups == {}


def test_a_group_is_deleted_with_its_offsets(h):
    h.commit({("t", 0): 7}, "one", 3)
    assert h.delete_group() is ErrorCode.NON_EMPTY_GROUP
    for member in ("one", "two"):
        h.beat(member, -1)
    assert h.delete_group() is NONE
    h.restart()
    assert h.shard.groups == {}
    assert h.committed() == {}
