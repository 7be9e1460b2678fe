"""Writes transaction markers to partitions that brokers of this process lead, and applies their effects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.partitions.internal_records import append_marker
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.control_records import EndTxnMarker
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.host import CoordinationHost
    from pykbroker.metadata.source import MetadataSource
    from pykbroker.partitions.partition import Partition


class LocalMarkers:
    """The ``MarkerPort`` to leaders in this process, which are ``brokers`` by their node ids."""

    def __init__(self, metadata: MetadataSource, brokers: Mapping[int, CoordinationHost]) -> None:
        self._metadata = metadata
        self._brokers = brokers

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
        known = self._metadata.image.partition(*where)
        if known is None:  # the topic was deleted: no marker is needed
            return None
        leader = self._brokers.get(known.leader)
        partition = None if leader is None else leader.partition(*where)
        if leader is None or partition is None or partition.leader != known.leader:  # it has not heard of that yet
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return write_marker(
            leader,
            partition,
            marker,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transaction_version=transaction_version,
        )


def write_marker(
    leader: CoordinationHost,
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
        timestamp_ms=leader.runtime.clock.now_ms(),
    )
    if partition.topic == CONSUMER_OFFSETS:
        leader.groups.end_transaction(partition.index, producer_id, appended, commit=marker.commit)
    return appended.committed
