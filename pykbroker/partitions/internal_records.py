"""Appends by the broker itself: records of coordinators, and transaction markers.

As in Kafka the leader appends them, with acks=all.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pykbroker.metadata.image import NO_LEADER
from pykbroker.storage.log.validate import Origin
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
    from collections.abc import Iterator, Sequence

    from pykbroker.partitions.partition import Partition
    from pykbroker.storage.log.config import LogConfig
    from pykbroker.storage.log.log import AppendResult

#: The most bytes of a record besides key and value: lengths, attributes, deltas, no headers.
_RECORD_OVERHEAD = 23


def append_internal(
    partition: Partition,
    records: Sequence[tuple[bytes | None, bytes | None]],
    timestamp_ms: int,
    producer: tuple[int, int] | None = None,
) -> AppendResult:
    """Append a coordinator's records as one batch.

    With ``producer`` (id and epoch) they are part of its transaction and take effect with the commit marker. Raises
    KafkaError NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE,
    INVALID_PRODUCER_EPOCH or KAFKA_STORAGE_ERROR.
    """
    return _append(partition, encoded(records, timestamp_ms, producer), timestamp_ms)


class CoordinatorBatch:
    """Records of a coordinator that are encoded in slices, and appended as one batch as ``append_internal`` does."""

    def __init__(self) -> None:
        self._batch = bytearray(HEADER_SIZE)
        self._count = 0

    def __len__(self) -> int:
        """Its size in bytes."""
        return len(self._batch)

    def add(self, records: Sequence[tuple[bytes | None, bytes | None]]) -> None:
        """Add some records."""
        _write_records(self._batch, records, self._count)
        self._count += len(records)

    def append(self, partition: Partition, timestamp_ms: int) -> AppendResult:
        """Append them all. Raises what ``append_internal`` raises."""
        return _append(partition, _with_header(self._batch, self._count, timestamp_ms, None), timestamp_ms)


def encoded(
    records: Sequence[tuple[bytes | None, bytes | None]], timestamp_ms: int, producer: tuple[int, int] | None
) -> bytearray:
    """The batch of ``append_internal``, as ``encode_batch`` would write it: these records all have one time and no headers."""
    batch = bytearray(HEADER_SIZE)
    _write_records(batch, records, 0)
    return _with_header(batch, len(records), timestamp_ms, producer)


def _write_records(batch: bytearray, records: Sequence[tuple[bytes | None, bytes | None]], first: int) -> None:
    for delta, (key, value) in enumerate(records, first):
        # Attributes, no difference in time, its number, key, value, no headers.
        body = b"\x00\x00" + _varint(delta)
        body += b"\x01" if key is None else _varint(len(key)) + key
        body += b"\x01\x00" if value is None else _varint(len(value)) + value + b"\x00"
        batch += _varint(len(body))
        batch += body


def _with_header(batch: bytearray, count: int, timestamp_ms: int, producer: tuple[int, int] | None) -> bytearray:
    producer_id, producer_epoch = producer or (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
    header = BatchHeader(
        base_offset=0,
        batch_length=len(batch) - LOG_OVERHEAD,
        partition_leader_epoch=NO_LEADER_EPOCH,
        magic=MAGIC,
        crc=0,
        attributes=0 if producer is None else TRANSACTIONAL_BIT,
        last_offset_delta=count - 1,
        base_timestamp=timestamp_ms,
        max_timestamp=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=NO_SEQUENCE,
        record_count=count,
    )
    write_batch_header(batch, 0, header)
    return batch


@lru_cache(maxsize=1024)  # lengths and numbers of records repeat
def _varint(value: int) -> bytes:
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


def _append(partition: Partition, batch: bytearray, timestamp_ms: int, transaction_version: int = 0) -> AppendResult:
    if partition.leader == NO_LEADER:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    partition.check_enough_in_sync()
    return partition.append(
        batch,
        now_ms=timestamp_ms,
        origin=Origin.COORDINATOR,
        transaction_version=transaction_version,
    )
