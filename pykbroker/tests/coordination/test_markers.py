from __future__ import annotations

import pytest

from pykbroker.coordination.markers import LocalMarkers
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.control_records import EndTxnMarker
from pykbroker.wire.errors import ErrorCode, KafkaError


def write(world: MemoryCluster) -> None:
    LocalMarkers(world.cluster.metadata, world.cluster.brokers).write(
        ("t", 0),
        EndTxnMarker(commit=True, coordinator_epoch=0),
        producer_id=5,
        producer_epoch=1,
        transaction_version=1,
    )


def test_a_marker_is_not_written_by_a_broker_that_has_not_taken_its_leadership_over_yet() -> None:
    world = MemoryCluster()
    world.topic("t")
    partition = world.cluster.partition("t", 0)
    assert partition is not None
    taken, partition.leader = partition.leader, 7
    with pytest.raises(KafkaError) as refused:
        write(world)
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    partition.leader = taken
    begin = partition.log_end_offset
    write(world)
    assert partition.log_end_offset == begin + 1
