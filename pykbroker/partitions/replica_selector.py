"""Selects the replica that a consumer reads from (KIP-392)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.metadata.image import BrokerImage
    from pykbroker.partitions.partition import Partition


def replica_to_read(brokers: Mapping[int, BrokerImage], partition: Partition, rack: str) -> int:
    """The leader if it is in the client's rack, or if no in-sync replica is there; otherwise the in-sync replica in that rack
    with the highest node id, which is what Kafka's comparison selects among caught-up replicas.
    """
    near = [
        replica
        for replica in partition.isr
        if (broker := brokers.get(replica)) is not None and broker.active and broker.rack == rack
    ]
    return partition.leader if not near or partition.leader in near else max(near)
