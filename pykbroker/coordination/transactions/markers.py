"""Writing the marker that ends a transaction in one partition, and what follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.wire.control_records import EndTxnMarker

if TYPE_CHECKING:
    from pykbroker.coordination.host import CoordinationHost
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.waits import Deferred


def write_marker(
    cluster: CoordinationHost,
    partition: Partition,
    marker: EndTxnMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    transaction_version: int,
) -> Deferred[None] | None:
    """Append ``marker`` to the partition; offsets that were committed in the transaction become visible, or go.

    Returns the wait until the marker is committed, None where it is already.
    Raises KafkaError (INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED, KAFKA_STORAGE_ERROR).
    """
    appended = partition.append_marker(
        marker,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transaction_version=transaction_version,
        timestamp_ms=cluster.runtime.clock.now_ms(),
    )
    if partition.topic == CONSUMER_OFFSETS:
        cluster.groups.end_transaction(partition.index, producer_id, commit=marker.commit)
    return appended.committed
