"""Appends by the broker itself: records of coordinators, and transaction markers.

As in Kafka the leader appends them, with acks=all.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pykbroker.metadata.image import NO_LEADER
from pykbroker.storage.log.validate import Origin, validate_own
from pykbroker.wire.batch_header import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL_BIT,
    BatchHeader,
    write_batch_header,
)
from pykbroker.wire.control_records import EndTxnMarker, encode_end_txn_batch
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.records import write_varint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.waits import Deferred
    from pykbroker.storage.log.config import LogConfig
    from pykbroker.storage.log.log import AppendResult

#: The most bytes of a record besides key and value: lengths, attributes, deltas, no headers.
_RECORD_OVERHEAD = 23
#: The end of a record.
NO_HEADERS = b"\x00"


def append_internal(
    partition: Partition,
    records: Sequence[tuple[bytes | None, bytes | None]],
    timestamp_ms: int,
    producer: tuple[int, int] | None = None,
) -> tuple[int, Deferred[None] | None]:
    """Append a coordinator's records as one batch: the offset of the first, and the wait until they are committed, None if they are.

    With ``producer`` (id and epoch) they are part of its transaction and take effect with the commit marker. Raises
    KafkaError NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE,
    INVALID_PRODUCER_EPOCH or KAFKA_STORAGE_ERROR.
    """
    batch = CoordinatorBatch()
    batch.add(records)
    return batch.append(partition, timestamp_ms, producer)


class CoordinatorBatch:
    """Records of a coordinator that are encoded one after the other, and appended as one batch: what ``encode_batch`` would write. They
    all have one time and no headers.
    """

    __slots__ = ("_batch", "count")

    def __init__(self) -> None:
        self._batch = bytearray(HEADER_SIZE)
        #: The number of its records.
        self.count = 0

    def __len__(self) -> int:
        """Its size in bytes."""
        return len(self._batch)

    def add(self, records: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        """Add some records by key and value."""
        self.add_encoded(
            [
                (b"\x01" if key is None else varint(len(key)) + key)
                + (b"\x01\x00" if value is None else varint(len(value)) + value + NO_HEADERS)
                for key, value in records
            ]
        )

    def add_encoded(self, records: Iterable[bytes]) -> None:
        """Add some records, each from the length of its key to its headers."""
        batch, count = self._batch, self.count
        for record in records:
            body = _begin_of(count) + record
            batch += varint(len(body))
            batch += body
            count += 1
        self.count = count

    def completed(self, timestamp_ms: int, producer: tuple[int, int] | None = None) -> tuple[BatchHeader, bytearray]:
        """The header, and the batch with it."""
        batch, last = self._batch, self.count - 1
        producer_id, producer_epoch = producer or (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
        length, attributes = len(batch) - LOG_OVERHEAD, 0 if producer is None else TRANSACTIONAL_BIT
        header = BatchHeader(  # by places, which costs half as much: base offset, length, no leader epoch, format, no checksum yet ...
            *(0, length, NO_LEADER_EPOCH, MAGIC, 0, attributes, last, timestamp_ms, timestamp_ms),
            *(producer_id, producer_epoch, NO_SEQUENCE, self.count),
        )
        write_batch_header(batch, 0, header)
        return header, batch

    def append(
        self, partition: Partition, timestamp_ms: int, producer: tuple[int, int] | None = None
    ) -> tuple[int, Deferred[None] | None]:
        """Append them all, which have keys. Returns and raises what ``append_internal`` does."""
        if producer is None:
            first = partition.append_own(self._batch, self.count, timestamp_ms)
            if first >= 0:
                return first, None
        header, batch = self.completed(timestamp_ms, producer)
        _check_leader(partition)
        validated = validate_own(header, batch, partition.log.config)
        appended = partition.append_batch(batch, timestamp_ms, Origin.COORDINATOR, 0, None, validated)
        return appended.base_offset, appended.committed


@lru_cache(maxsize=1024)
def _begin_of(number: int) -> bytes:
    """Attributes, no difference in time, and the number of a record in its batch."""
    return b"\x00\x00" + varint(number)


@lru_cache(maxsize=1024)  # lengths and numbers of records repeat
def varint(value: int) -> bytes:
    """A length as records have it."""
    out = bytearray()
    write_varint(out, value)
    return bytes(out)


def batches_that_fit(config: LogConfig, records: Sequence[tuple[bytes | None, bytes | None]]) -> Iterator[slice]:
    """Divide a coordinator's records, in their order, into batches that the log accepts.

    A record too large for any batch gets one of its own, so that it is refused alone.
    """
    room = min(config.max_message_bytes, config.segment_bytes) - HEADER_SIZE
    begin = size = 0
    for number, (key, value) in enumerate(records):
        needed = len(key or b"") + len(value or b"") + _RECORD_OVERHEAD
        if size + needed > room and number > begin:
            yield slice(begin, number)
            begin, size = number, 0
        size += needed
    if begin < len(records):
        yield slice(begin, len(records))


def append_marker(
    partition: Partition,
    marker: EndTxnMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    transaction_version: int,
    timestamp_ms: int,
) -> AppendResult:
    """Append a transaction marker.

    Raises KafkaError NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED
    or KAFKA_STORAGE_ERROR.
    """
    batch = encode_end_txn_batch(marker, producer_id=producer_id, producer_epoch=producer_epoch, timestamp=timestamp_ms)
    return _append(partition, bytearray(batch), timestamp_ms, transaction_version)


def _check_leader(partition: Partition) -> None:
    if partition.leader == NO_LEADER:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    partition.check_enough_in_sync()


def _append(partition: Partition, batch: bytearray, timestamp_ms: int, transaction_version: int = 0) -> AppendResult:
    _check_leader(partition)
    return partition.append(
        batch,
        now_ms=timestamp_ms,
        origin=Origin.COORDINATOR,
        transaction_version=transaction_version,
    )
