"""Selects the replica that a consumer reads from (KIP-392)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.metadata.image import BrokerImage
    from pykbroker.partitions.partition import Partition


def replica_to_read(brokers: Mapping[int, BrokerImage], partition: Partition, rack: str, offset: int) -> int:
    """The leader if it is in the client's rack, or if no replica is there that has ``offset``; otherwise the one in that rack that has most,
    then that was caught up last, then with the highest node id. Where replicas share a log, all in sync have the same.
    """

    def near(replica: int) -> bool:
        broker = brokers.get(replica)
        return broker is not None and broker.active and broker.rack == rack

    if near(partition.leader):
        return partition.leader
    if partition.led is None:
        return max(filter(near, partition.isr), default=partition.leader)
    followers = partition.led.leading.followers
    return max(
        (replica for replica, it in followers.items() if it.log_start <= offset <= it.log_end and near(replica)),
        key=lambda replica: (followers[replica].log_end, followers[replica].caught_up_ms, replica),
        default=partition.leader,
    )
