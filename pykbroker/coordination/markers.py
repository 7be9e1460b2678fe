"""Writes transaction markers to partitions of this process, and applies their effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.partitions.internal_records import append_marker
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.control_records import EndTxnMarker

if TYPE_CHECKING:
    from pykbroker.coordination.host import CoordinationHost
    from pykbroker.partitions.partition import Partition


class LocalMarkers:
    """The ``MarkerPort`` to leaders in this process."""

    def __init__(self, host: CoordinationHost) -> None:
        self._host = host

    def write(
        self,
        where: tuple[str, int],
        marker: EndTxnMarker,
        *,
        producer_id: int,
        producer_epoch: int,
        transaction_version: int,
    ) -> Deferred[None] | None:
        """See ``MarkerPort``."""
        partition = self._host.partition(*where)
        if partition is None:  # the topic was deleted: no marker is needed
            return None
        return write_marker(
            self._host,
            partition,
            marker,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transaction_version=transaction_version,
        )


def write_marker(
    host: CoordinationHost,
    partition: Partition,
    marker: EndTxnMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    transaction_version: int,
) -> Deferred[None] | None:
    """Append ``marker`` to the partition; it applies or drops offsets that were committed in the transaction.

    Completes when the marker is committed; None if it is already. Raises KafkaError INVALID_PRODUCER_EPOCH,
    TRANSACTION_COORDINATOR_FENCED, NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS or KAFKA_STORAGE_ERROR.
    """
    appended = append_marker(
        partition,
        marker,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transaction_version=transaction_version,
        timestamp_ms=host.runtime.clock.now_ms(),
    )
    if partition.topic == CONSUMER_OFFSETS:
        host.groups.end_transaction(partition.index, producer_id, appended, commit=marker.commit)
    return appended.committed
