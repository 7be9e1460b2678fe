"""A share partition at its leader: its beginning, its end, its locks, and what it says to members when it cannot go on."""

from __future__ import annotations

import logging

import pytest

from pykbroker.share_partitions import leading
from pykbroker.share_partitions.leading import LedSharePartition
from pykbroker.share_partitions.states import Acknowledge, RecordState
from pykbroker.tests.kit.share_groups import SHARE_GROUP, ShareCluster, ShareMember
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.write_share_group_state import (
    PartitionData,
    StateBatch,
    WriteShareGroupStateRequest,
    WriteStateData,
)

TWO = {
    "offsets_topic_replication_factor": "2",
    "share_coordinator_state_topic_replication_factor": "2",
}


def led(world: ShareCluster, broker: int = 1) -> LedSharePartition:
    (found,) = world.cluster.brokers[broker].share_partitions.led_of(SHARE_GROUP)
    return found


def started(brokers: int = 1, **settings: str) -> tuple[ShareCluster, ShareMember]:
    world = ShareCluster(brokers, replicas=brokers, **settings)
    if brokers > 1:
        world.asked_broker = lambda: world.partition("t").leader  # type: ignore[method-assign]
    world.joined()
    world.produce(6)
    return world, ShareMember(world)


def test_what_was_persisted_is_read_when_a_member_comes_after_a_kill() -> None:
    world, member = started()
    assert member.acquired() == [(0, 5, 1)]
    assert member.acknowledge(0, 1, Acknowledge.ACCEPT) == ErrorCode.NONE
    assert member.acknowledge(2, 3, Acknowledge.RELEASE) == ErrorCode.NONE
    world.restart(kill=True)
    assert sorted(ShareMember(world).acquired()) == [(2, 3, 2), (4, 5, 1)]


def kept(world: ShareCluster, *batches: tuple[int, int, int, int]) -> ShareMember:
    """A member after a start, once the share coordinator was made to keep these batches."""
    state = [StateBatch(*each) for each in batches]
    request = WriteShareGroupStateRequest(
        SHARE_GROUP, [WriteStateData(world.topic_id, [PartitionData(0, led(world)._state_epoch, 0, 0, 0, state)])]
    )
    answer = world.ask(request, 1, broker=world.coordinator(SHARE_GROUP))
    assert answer.results[0].partitions[0].error_code == ErrorCode.NONE
    world.restart()
    return ShareMember(world)


@pytest.mark.parametrize("state", [-1, 5, 127])
def test_a_state_of_records_that_there_is_not_is_answered_as_by_apache_kafka(state: int) -> None:
    world, member = started()
    member.acquired()
    assert member.acknowledge(0, 5, Acknowledge.ACCEPT) == ErrorCode.NONE
    world.produce(6)
    (part,) = kept(world, (7, 8, state, 1)).fetch().responses[0].partitions
    assert part.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_delivery_count_ends_where_an_answer_has_room_for_no_more() -> None:
    world, member = started()
    member.acquired()
    again = kept(world, (2, 3, RecordState.AVAILABLE, 2**15 - 1))
    assert (2, 2, 2**15 - 1) in [each for _ in range(4) for each in again.acquired()]


def test_it_ends_with_the_leadership_and_the_member_is_told_so() -> None:
    world, member = started(2, **TWO)
    assert member.acquired() == [(0, 5, 1)]
    before = world.partition("t").leader
    first = led(world, before)
    moved = world.controller.move_leader("t", 0, 3 - before)
    world.settle()
    assert (moved.done, first.has_ended) == (True, True)
    world.asked_broker = lambda: before  # type: ignore[method-assign]
    assert member.acknowledge(0, 5, Acknowledge.ACCEPT) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    world.asked_broker = lambda: 3 - before  # type: ignore[method-assign]
    assert ShareMember(world).acquired() == [(0, 5, 1)]


@pytest.mark.parametrize("lost", [False, True])
def test_what_a_deleted_group_cannot_persist_is_no_error_of_the_broker(
    lost: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The session outlives the group; then the lock is over, or its connection is lost."""
    world, member = started()
    member.acquired()
    world.heartbeat("m", -1)
    (deleted,) = world.ask(DeleteGroupsRequest([SHARE_GROUP]), 2, broker=world.coordinator(SHARE_GROUP)).results
    assert deleted.error_code == ErrorCode.NONE
    if lost:
        member.peer.lose()
        world.settle()
    else:
        world.advance(31_000)
    (line,) = [each for each in caplog.records if each.name == leading.__name__]
    assert line.levelno == logging.WARNING
    assert "failed: Error in write state RPC. Write operation on uninitialized share partition" in line.getMessage()


def test_a_deleted_topic_ends_it() -> None:
    world, member = started()
    member.acquired()
    one = led(world)
    world.delete_topic("t")
    world.settle()
    assert one.has_ended
    assert world.broker.share_partitions.led_of(SHARE_GROUP) == []


def test_locks_that_are_over_are_counted_and_persisted() -> None:
    world, member = started()
    assert member.acquired() == [(0, 5, 1)]
    member.acknowledge(0, 0, Acknowledge.ACCEPT)
    world.advance(30_001)
    world.settle()
    assert led(world).locks_over == 5
    world.restart(kill=True)
    assert ShareMember(world).acquired() == [(1, 5, 2)]


def test_bytes_that_may_be_acquired() -> None:
    world, member = started()
    assert member.acquired() == [(0, 5, 1)]
    one = led(world)
    assert one.available_bytes(1 << 20) == 0
    world.produce(1)
    least = one.available_bytes(1 << 20)
    world.produce(1)
    assert one.available_bytes(1 << 20) == 2 * least > 2 * 61
    assert one.available_bytes(50) == 50


def test_deleted_records_are_passed() -> None:
    world, member = started()
    assert member.acquired(max_records=1) == [(0, 5, 1)]
    topic = DeleteRecordsTopic("t", [DeleteRecordsPartition(0, 4)])
    assert world.ask(DeleteRecordsRequest([topic], 1000), 2).topics[0].partitions[0].error_code == 0
    member.acknowledge(4, 5, Acknowledge.RELEASE)
    assert led(world).start_offset == 4
    assert member.acquired() == [(4, 5, 2)]
