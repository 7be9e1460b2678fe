"""Which brokers give, and which get."""

from __future__ import annotations

from pykbroker.client.offsets import TopicPartition
from pykbroker.container.tools.reassignment_throttles import moves
from pykbroker.wire.messages.list_partition_reassignments import OngoingPartitionReassignment


def test_moves_under_way_and_those_that_begin() -> None:
    new, changed, other = (TopicPartition("t", number) for number in range(3))
    ongoing = {
        changed: OngoingPartitionReassignment(partition_index=1, replicas=[1, 2, 3], adding_replicas=[3]),
        other: OngoingPartitionReassignment(partition_index=2, replicas=[1, 2], adding_replicas=[2]),
    }
    found = moves({new: [2, 3], changed: [1, 4]}, {new: [1, 2], changed: [1, 2]}, ongoing)
    assert found == {new: ({1, 2}, {3}), changed: ({1, 2}, {4}), other: ({1}, {2})}
