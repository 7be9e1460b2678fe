"""The share coordinator on a cluster: what it answers is kept, over restarts, moves of its leader and lost disks."""

from __future__ import annotations

import pytest

from pykbroker.coordination.share.coordinator import ShareCoordinator
from pykbroker.coordination.share.state import SharePartitionKey, ShareState, StateBatch
from pykbroker.metadata.names import SHARE_GROUP_STATE
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState


class World(MemoryCluster):
    """A cluster with a topic ``t``, and its share coordinator."""

    def __init__(self, **settings: str) -> None:
        super().__init__(share_coordinator_state_topic_num_partitions="2", **settings)
        self.topic("t")
        self.settled(self.cluster.auto_creation.create([SHARE_GROUP_STATE]))

    @property
    def coordinator(self) -> ShareCoordinator:
        found: ShareCoordinator = self.cluster.brokers[1].shares
        return found

    @property
    def key(self) -> SharePartitionKey:
        topic = self.cluster.metadata.image.topic("t")
        assert topic is not None
        return SharePartitionKey("g", topic.id, 0)

    def settled(self, wait):
        self.settle()
        assert wait.done
        return wait.value

    def asked(self, name: str, *args):
        """The answer of the coordinator, which loads the partition first."""
        for _ in range(5):
            try:
                return self.settled(getattr(self.coordinator, name)(self.key, *args))
            except KafkaError as error:
                if error.code is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                    raise
                self.advance(1)
        raise AssertionError("never loaded")


WRITE = ShareState(start_offset=3, delivery_complete_count=2, batches=(StateBatch(4, 5, 2, 1),))


@pytest.mark.parametrize("kill", [False, True])
def test_state_is_found_again_after_a_restart(kill: bool) -> None:
    world = World()
    world.asked("initialize", 0, -1)
    world.asked("write", WRITE)
    before = world.asked("summary")
    world.restart(kill=kill)
    after = world.asked("read", 0)
    assert after == before
    assert (after.start_offset, after.batches) == (3, WRITE.batches)


def test_what_is_redundant_is_removed() -> None:
    world = World(
        share_coordinator_snapshot_update_records_per_snapshot="5",
        share_coordinator_state_topic_prune_interval_ms="1000",
    )
    world.asked("initialize", 0, 0)
    for offset in range(20):
        world.asked("write", ShareState(start_offset=0, batches=(StateBatch(offset, offset, 2, 1),)))
    world.advance(2000)
    index = world.coordinator.partition_of(str(world.key))
    partition = world.cluster.partition(SHARE_GROUP_STATE, index)
    assert partition is not None
    assert partition.log_start_offset > 0
    before = world.asked("summary")
    world.restart()
    assert world.asked("read", 0) == before


def test_the_state_of_a_deleted_topic_ends() -> None:
    world = World()
    key = world.key
    world.asked("initialize", 0, 0)
    world.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000), 6)
    world.advance(10)
    index = world.coordinator.partition_of(str(key))
    assert world.coordinator.shards.loaded[index].shard.states == {}
    with pytest.raises(KafkaError) as refused:
        world.settled(world.coordinator.read(key, 0))
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
