"""A leader epoch begins where the log ended when its leader was elected, whether or not anything is written in it."""

from __future__ import annotations

from dataclasses import replace

from pykbroker.partitions.internal_records import append_internal
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)


def elect(world: MemoryCluster) -> None:
    """The next leader epoch, with the same leader."""
    partition = world.cluster.partition("t", 0)
    state = world.cluster.metadata.image.topics["t"].partitions[0]
    partition.apply(replace(state, leader_epoch=partition.leader_epoch + 1))


def end_of(world: MemoryCluster, epoch: int) -> tuple[int, int]:
    asked = OffsetForLeaderTopic("t", [OffsetForLeaderPartition(0, -1, epoch)])
    answer = world.ask(OffsetForLeaderEpochRequest(-1, [asked]), 4).topics[0].partitions[0]
    return answer.leader_epoch, answer.end_offset


def test_an_epoch_begins_without_a_record():
    world = MemoryCluster()
    world.topic(partitions=1)
    partition = world.cluster.partition("t", 0)
    append_internal(partition, [(None, b"a"), (None, b"b")], world.clock.now_ms())
    elect(world)
    assert [end_of(world, epoch) for epoch in range(3)] == [(0, 2), (1, 2), (-1, -1)]
    elect(world)
    assert [end_of(world, epoch) for epoch in range(4)] == [(0, 2), (0, 2), (2, 2), (-1, -1)]
    append_internal(partition, [(None, b"c")], world.clock.now_ms())
    assert [end_of(world, epoch) for epoch in range(4)] == [(0, 2), (0, 2), (2, 3), (-1, -1)]


def test_a_log_that_is_opened_later_knows_the_epoch_it_is_opened_in():
    world = MemoryCluster()
    world.topic(partitions=1)
    elect(world)
    partition = world.cluster.partition("t", 0)
    assert partition.opened_log is None
    assert partition.log.end_offset_for_epoch(1) == (1, 0)
