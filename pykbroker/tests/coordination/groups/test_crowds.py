"""Offsets in such numbers that one batch, or one turn of the loop, is not enough for them."""

from __future__ import annotations

import pytest

from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.tests.kit.cluster import GROUP, MemoryCluster
from pykbroker.tests.kit.groups import GroupCluster
from pykbroker.tests.kit.metadata import alter
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

HOUR = 3_600_000
GROUPS = [f"group-{number}" for number in range(40)]
WIDTH = 5
COMMIT = OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, 5)])


@pytest.fixture
def world() -> GroupCluster:
    world = GroupCluster(
        offsets_topic_num_partitions="1",
        offsets_retention_minutes="60",
        offsets_retention_check_interval_ms="60000",
    )
    world.topic(partitions=WIDTH)
    for group in GROUPS:
        assert set(commit_all(world, group, 7).values()) == {ErrorCode.NONE}
    return world


def commit_all(world: GroupCluster, group: str, offset: int) -> dict:
    return world.commit({("t", index): offset for index in range(WIDTH)}, group=group)


def allow_batches_of(world: GroupCluster, size: int) -> None:
    alter(world.cluster.controller, TOPIC_RESOURCE, CONSUMER_OFFSETS, max_message_bytes=str(size))


def shard(world: GroupCluster):
    return world.broker.groups.shards.loaded[0].shard


def end_offset(world: GroupCluster) -> int:
    return world.cluster.partition(CONSUMER_OFFSETS, 0).log_end_offset


def committed(world: GroupCluster, group: str) -> dict:
    response = world.ask(OffsetFetchRequest(group_id=group, topics=None), 7)
    return {each.partition_index: each.committed_offset for topic in response.topics for each in topic.partitions}


def turns(world: GroupCluster) -> list[int]:
    """Records appended in each turn of the loop, until nothing is left to do."""
    appended = []
    for _ in range(10_000):
        before = end_offset(world)
        world.cluster.runtime.wake_queue.run()
        if end_offset(world) == before:
            return appended
        appended.append(end_offset(world) - before)
    raise AssertionError("there is no end to it")


def test_offsets_that_expire_together_need_no_batch_that_holds_them_all(world):
    allow_batches_of(world, 1000)
    world.advance(HOUR + 60_000)
    turns(world)
    assert shard(world).groups == {}
    world.restart(kill=True)
    assert world.committed(GROUPS[0]) == {}
    assert shard(world).groups == {}


def test_a_tombstone_larger_than_any_batch_does_not_keep_the_others(world, caplog):
    long = "g" * 1500
    world.commit({("t", 0): 1}, group=long)
    allow_batches_of(world, 1000)
    world.advance(HOUR + 60_000)
    turns(world)
    assert list(shard(world).groups) == [long]
    assert "cannot be appended" in caplog.text


def test_a_deleted_topic_needs_no_batch_that_holds_all_of_its_offsets(world):
    allow_batches_of(world, 1000)
    world.delete_topic("t")
    turns(world)
    world.restart(kill=True)
    assert [committed(world, group) for group in GROUPS] == [{}] * len(GROUPS)


def test_a_group_is_deleted_however_much_it_has_committed(world):
    allow_batches_of(world, 150)
    answer = world.ask(DeleteGroupsRequest(GROUPS[:1]), 2)
    assert answer.results[0].error_code == ErrorCode.NONE
    assert GROUPS[0] not in shard(world).groups


def test_offsets_are_deleted_however_many(world):
    allow_batches_of(world, 150)
    topics = [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(index) for index in range(WIDTH)])]
    answer = world.ask(OffsetDeleteRequest(GROUPS[0], topics), 0)
    assert answer.error_code == ErrorCode.NONE
    assert committed(world, GROUPS[0]) == {}


def test_a_commit_too_large_for_a_batch_is_refused_as_a_whole(world):
    """It stays atomic, as in Kafka."""
    allow_batches_of(world, 300)
    assert set(commit_all(world, GROUPS[0], 8).values()) == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert committed(world, GROUPS[0]) == dict.fromkeys(range(WIDTH), 7)


def test_offsets_expire_some_at_a_time(world):
    world.cluster.runtime.slices.weight_of_a_turn = 20
    world.advance(HOUR + 60_000)
    appended = turns(world)
    assert shard(world).groups == {}
    assert len(appended) > 1
    assert sum(appended) > len(GROUPS) * WIDTH / 2


def test_a_group_that_comes_back_between_two_slices_keeps_what_it_commits(world):
    world.cluster.runtime.slices.weight_of_a_turn = 1
    world.advance(HOUR + 60_000)
    for group in GROUPS:
        assert set(commit_all(world, group, 8).values()) == {ErrorCode.NONE}
    turns(world)
    assert [committed(world, group) for group in GROUPS] == [dict.fromkeys(range(WIDTH), 8)] * len(GROUPS)


def test_a_deleted_topic_takes_its_offsets_along_some_at_a_time(world):
    world.cluster.runtime.slices.weight_of_a_turn = 20
    world.delete_topic("t")
    # Whoever asks in between sees none of them.
    assert shard(world).committed.offsets.of_group(GROUPS[-1])
    assert [committed(world, group) for group in GROUPS] == [{}] * len(GROUPS)
    assert len(turns(world)) > 1
    assert not any(shard(world).committed.offsets.of_group(group) for group in GROUPS)


def test_a_topic_made_again_between_two_slices_keeps_what_is_committed_for_it(world):
    world.cluster.runtime.slices.weight_of_a_turn = 20
    world.delete_topic("t")
    world.topic(partitions=WIDTH)
    assert [committed(world, group) for group in GROUPS] == [{}] * len(GROUPS)
    for group in GROUPS[::3]:
        assert set(commit_all(world, group, 8).values()) == {ErrorCode.NONE}
    turns(world)
    expected = [dict.fromkeys(range(WIDTH), 8) if number % 3 == 0 else {} for number in range(len(GROUPS))]
    assert [committed(world, group) for group in GROUPS] == expected


def test_a_kill_between_two_slices_leaves_no_offset_of_a_deleted_topic(world):
    world.cluster.runtime.slices.weight_of_a_turn = 20
    world.delete_topic("t")
    world.restart(kill=True)
    world.topic(partitions=WIDTH)
    assert [committed(world, group) for group in GROUPS] == [{}] * len(GROUPS)
    turns(world)
    assert not any(shard(world).committed.offsets.of_group(group) for group in GROUPS)


def test_a_shard_that_moves_between_two_slices_is_left_alone(caplog):
    world = GroupCluster(brokers=2, offsets_topic_num_partitions="1", offsets_topic_replication_factor="2")
    world.topic(partitions=WIDTH)
    for group in GROUPS:
        commit_all(world, group, 7)
    world.cluster.runtime.slices.weight_of_a_turn = 20
    world.delete_topic("t")
    first = world.coordinator(GROUP)
    world.lifecycle.begin_stop(first)
    world.lifecycle.stop(first)
    for _ in range(100):
        world.advance(0)
    assert not any(shard(world).committed.offsets.of_group(group) for group in GROUPS)
    assert "cannot be appended" not in caplog.text


def test_sessions_that_end_together_are_ended_some_in_a_turn_but_before_anybody_asks():
    world = GroupCluster(offsets_topic_num_partitions="1")
    world.topic()
    joins = [world.join(group=group, version=3) for group in GROUPS]
    world.advance(0)
    assert all(join.value.error_code == ErrorCode.NONE for join in joins)
    world.cluster.runtime.slices.weight_of_a_turn = 50
    world.clock.advance(60_000)
    world.cluster.runtime.timers.run_due()
    last = shard(world).groups[GROUPS[-1]]
    assert not last.is_empty
    answer = world.ask(DeleteGroupsRequest(GROUPS[-1:]), 2)
    assert answer.results[0].error_code == ErrorCode.NONE
    assert not all(group.is_empty for group in shard(world).groups.values())
    for _ in GROUPS:
        world.advance(0)
    assert all(group.is_empty for group in shard(world).groups.values())


def test_groups_that_are_loaded_together_begin_some_in_a_turn_but_before_anybody_asks():
    """Whoever is in them gets a whole session to be heard of again; which of them had one, their deadlines tell."""
    world = GroupCluster(offsets_topic_num_partitions="1")
    world.topic()
    joins = [world.join(group=group, version=3) for group in GROUPS]
    world.advance(0)
    for group, join in zip(GROUPS, joins, strict=True):
        member = join.value.member_id
        given = [SyncGroupRequestAssignment(member, b"all")]
        assert world.ask(SyncGroupRequest(group, 1, member, assignments=given), 3).error_code == ErrorCode.NONE
    world.restart(kill=True)
    world.cluster.runtime.slices.weight_of_a_turn = 50
    last = GROUPS[-1]
    assert world.ask(DescribeGroupsRequest([last]), 5).groups[0].group_state == "Stable"
    assert 0 < len(begun(world)) < len(GROUPS)
    assert last in begun(world)
    for _ in GROUPS:
        world.advance(0)
    assert begun(world) == set(GROUPS)
    world.advance(10_000)
    for _ in GROUPS:
        world.advance(0)
    assert all(group.is_empty for group in shard(world).groups.values())


def begun(world: GroupCluster) -> set[str]:
    """The groups that something wakes."""
    return set(world.broker.groups.shards.loaded[0].alarms)


def test_groups_of_a_new_cluster_are_described_without_opening_a_log() -> None:
    """Fifty logs are made in one turn otherwise, which holds the loop for 90 ms."""
    world = MemoryCluster(offsets_topic_num_partitions="50")
    world.coordinator(GROUP)
    answer = world.ask(DescribeGroupsRequest([f"group-{number}" for number in range(400)]), 5)
    assert {group.group_state for group in answer.groups} == {"Dead"}
    assert not any(world.partition(CONSUMER_OFFSETS, index).opened_log for index in range(50))
    world.topic()
    world.ask(OffsetCommitRequest("group-7", topics=[COMMIT]), 8)
    world.restart()
    world.settle()
    assert world.committed("group-7") == {("t", 0): 5}
