"""Which replica a consumer is to read from (KIP-392)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.metadata.image import BrokerImage
    from pykbroker.partitions.partition import Partition

#: The one value of replica.selector.class, beside none, that is acted upon.
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def replica_to_read(brokers: Mapping[int, BrokerImage], partition: Partition, rack: str) -> int:
    """The leader where it is in the client's rack or nobody is; else, of the living replicas in sync there, the one with
    the highest id, which is the last that Kafka's comparison leaves when all have caught up.
    """
    near = [
        replica
        for replica in partition.isr
        if (broker := brokers.get(replica)) is not None and broker.active and broker.rack == rack
    ]
    return partition.leader if not near or partition.leader in near else max(near)
