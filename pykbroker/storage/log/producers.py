"""The producer states of a log, for idempotent and transactional producers (KIP-98, KIP-360, KIP-890).

A state has the producer epoch, the last five batches (a repeat is answered with the old offset) and the open transaction. The rules and error codes are those of Kafka's ProducerAppendInfo. ``.snapshot`` files keep the state at an
offset: version 1 (int16), CRC-32C of what follows (uint32), entries.
"""

from __future__ import annotations

import struct
from collections import deque
from struct import Struct
from typing import NamedTuple

from pykbroker.storage.index.aborted import AbortedTxn
from pykbroker.wire.batch_header import BatchHeader
from pykbroker.wire.control_records import EndTxnMarker
from pykbroker.wire.crc import crc32c
from pykbroker.wire.errors import ErrorCode, KafkaError

NO_EPOCH = -1
NO_SEQUENCE = -1
_MAX_SEQUENCE = 2**31 - 1
_REMEMBERED = 5

_SNAPSHOT_HEAD = Struct(">hI")
_COUNT = Struct(">i")
_SNAPSHOT_ENTRY = Struct(">qhiqiqiq")
_SNAPSHOT_VERSION = 1


class CorruptSnapshotError(ValueError):
    """A snapshot file that cannot be trusted."""


class BatchMemory(NamedTuple):
    """One batch of a producer."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class ProducerEntry:
    """State of one producer id."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "last_sequence",
        "last_timestamp",
        "producer_id",
        "txn_first_offset",
    )

    def __init__(self, producer_id: int, epoch: int = NO_EPOCH) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.last_sequence = NO_SEQUENCE
        self.last_timestamp = -1
        self.coordinator_epoch = -1
        #: First offset of the open transaction, or -1.
        self.txn_first_offset = -1
        self.batches: deque[BatchMemory] = deque(maxlen=_REMEMBERED)

    def goes_on(self, epoch: int, sequence: int) -> bool:
        """Whether a batch without a transaction is the next one of this producer, as ``check_batch`` demands."""
        return (
            epoch == self.epoch and sequence == (self.last_sequence + 1) & _MAX_SEQUENCE and self.txn_first_offset < 0
        )

    def remember(self, epoch: int, batch: BatchMemory) -> None:
        """Note a batch that was written."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()
        self.batches.append(batch)
        self.last_sequence = batch.last_sequence
        self.last_timestamp = batch.timestamp


def next_sequence(sequence: int, count: int) -> int:
    """``count`` after ``sequence``; sequences wrap from 2^31-1 to 0."""
    return (sequence + count) & _MAX_SEQUENCE


class Producers:
    """State of all producers of a log up to ``end_offset``."""

    __slots__ = ("end_offset", "entries", "first_unstable_offset", "guards", "open_txns", "uncommitted_ends")

    def __init__(self) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        #: First offset -> producer id of open transactions, in the order of offsets.
        self.open_txns: dict[int, int] = {}
        #: The first offset of the oldest open transaction.
        self.first_unstable_offset: int | None = None
        #: Offset of an uncommitted marker -> first offset of its transaction, in the order of markers.
        self.uncommitted_ends: dict[int, int] = {}
        #: By producer id, what stands for a question whether the partition is in the producer's transaction; any marker takes it away.
        self.guards: dict[int, set[object]] = {}
        self.end_offset = 0

    def _transactions_changed(self) -> None:
        self.first_unstable_offset = next(iter(self.open_txns), None)

    # -- before the write ---------------------------------------------------------------------------------------------

    def check_batch(
        self, header: BatchHeader, *, check_sequence: bool, transaction_version: int = 0
    ) -> BatchMemory | None:
        """Check that a data batch may be appended. Returns the known batch that it repeats, or None for a new one.

        Raises KafkaError INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER or INVALID_TXN_STATE. A producer id without
        state may begin with any sequence, since retention may have removed its records; but a transaction of version 2 has
        its own epoch and begins at 0 (KIP-890).
        """
        entry = self.entries.get(header.producer_id)
        if entry is None:
            if transaction_version >= 2 and header.is_transactional and check_sequence and header.base_sequence:
                raise KafkaError(
                    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                    f"A transaction of producer {header.producer_id} begins with sequence {header.base_sequence}.",
                )
            return None
        epoch, base_sequence = header.producer_epoch, header.base_sequence
        expected = next_sequence(entry.last_sequence, 1)
        if check_sequence and epoch == entry.epoch and base_sequence != expected:
            last_sequence = header.last_sequence
            for batch in entry.batches:
                if batch.first_sequence == base_sequence and batch.last_sequence == last_sequence:
                    return batch
        _check_epoch(entry, epoch)
        if check_sequence:
            _check_sequence(entry, epoch, base_sequence, expected)
        if entry.txn_first_offset >= 0 and not header.is_transactional:
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"Producer {header.producer_id} has an open transaction; the batch is not transactional.",
            )
        return None

    def check_marker(self, header: BatchHeader, marker: EndTxnMarker, transaction_version: int = 0) -> None:
        """Check that a transaction marker may be appended.

        Raises KafkaError INVALID_PRODUCER_EPOCH or TRANSACTION_COORDINATOR_FENCED. From transaction version 2 the marker's
        epoch must be above the producer's, except in a repeated marker (KIP-890, KAFKA-19999).
        """
        entry = self.entries.get(header.producer_id)
        if entry is None:
            return
        epoch = header.producer_epoch
        if transaction_version >= 2 and epoch == entry.epoch and entry.txn_first_offset >= 0:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"Marker of producer {header.producer_id} has epoch {epoch}, which is not above the last seen epoch.",
            )
        _check_epoch(entry, epoch)
        if entry.coordinator_epoch > marker.coordinator_epoch:
            raise KafkaError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"Coordinator epoch {marker.coordinator_epoch} of producer {header.producer_id} is older than "
                f"{entry.coordinator_epoch}.",
            )

    def aborted_by(self, header: BatchHeader, marker: EndTxnMarker) -> AbortedTxn | None:
        """The entry for the transaction index if ``marker``, at the header's offset, aborts an open transaction."""
        entry = self.entries.get(header.producer_id)
        if marker.commit or entry is None or entry.txn_first_offset < 0:
            return None
        offset = header.base_offset
        others = (first for first, owner in self.open_txns.items() if owner != header.producer_id)
        return AbortedTxn(header.producer_id, entry.txn_first_offset, offset, next(others, offset + 1))

    # -- after the write ----------------------------------------------------------------------------------------------

    def note(self, header: BatchHeader, marker: EndTxnMarker | None) -> None:
        """Apply a batch that was appended, or read by recovery; ``marker`` is the content of a control batch."""
        if marker is not None:
            self._note_marker(header, marker)
        elif header.producer_id >= 0:
            self._note_batch(header)
        self.end_offset = header.base_offset + header.last_offset_delta + 1

    def skip_to(self, end_offset: int) -> None:
        """Set the end of the applied batches: those up to ``end_offset`` have no producer."""
        self.end_offset = end_offset

    def _note_batch(self, header: BatchHeader) -> None:
        producer_id = header.producer_id
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerEntry(producer_id)
        first = header.base_offset
        entry.remember(
            header.producer_epoch,
            BatchMemory(header.base_sequence, header.last_sequence, first, header.last_offset, header.max_timestamp),
        )
        if header.is_transactional and entry.txn_first_offset < 0:
            entry.txn_first_offset = first
            self.open_txns[first] = producer_id
            self._transactions_changed()

    def _note_marker(self, header: BatchHeader, marker: EndTxnMarker) -> None:
        producer_id, epoch = header.producer_id, header.producer_epoch
        if self.guards:
            self.guards.pop(producer_id, None)
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerEntry(producer_id, epoch)
        if epoch != entry.epoch:
            entry.epoch = epoch
            entry.batches.clear()
            entry.last_sequence = NO_SEQUENCE
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = header.max_timestamp
        if entry.txn_first_offset >= 0:
            self.open_txns.pop(entry.txn_first_offset, None)
            self.uncommitted_ends[header.base_offset] = entry.txn_first_offset
            entry.txn_first_offset = -1
            self._transactions_changed()

    def committed_to(self, offset: int) -> None:
        """Markers before ``offset`` are committed."""
        ends = self.uncommitted_ends
        for marker in [marker for marker in ends if marker < offset]:
            del ends[marker]

    def remove_expired(self, now_ms: int, expiration_ms: int) -> None:
        """Remove producers without an open transaction whose last batch is older than ``expiration_ms``."""
        expired = [
            producer_id
            for producer_id, entry in self.entries.items()
            if entry.txn_first_offset < 0 and now_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer_id in expired:
            del self.entries[producer_id]

    def clear(self, end_offset: int) -> None:
        """Remove all; the state is that of an empty log that ends at ``end_offset``."""
        self.entries.clear()
        self.open_txns.clear()
        self.uncommitted_ends.clear()
        self.guards.clear()
        self._transactions_changed()
        self.end_offset = end_offset

    # -- snapshots ----------------------------------------------------------------------------------------------------

    def encode(self) -> bytes:
        """The content of a .snapshot file. It has only the last batch of each producer."""
        body = bytearray(_COUNT.pack(len(self.entries)))
        for entry in self.entries.values():
            last = entry.batches[-1] if entry.batches else None
            body += _SNAPSHOT_ENTRY.pack(
                entry.producer_id,
                entry.epoch,
                last.last_sequence if last else NO_SEQUENCE,
                last.last_offset if last else -1,
                last.last_offset - last.first_offset if last else 0,
                entry.last_timestamp,
                entry.coordinator_epoch,
                entry.txn_first_offset,
            )
        return _SNAPSHOT_HEAD.pack(_SNAPSHOT_VERSION, crc32c(body)) + body

    def decode(self, data: bytes, end_offset: int) -> None:
        """Load the state of a snapshot at ``end_offset``. Raises CorruptSnapshotError."""
        try:
            version, crc = _SNAPSHOT_HEAD.unpack_from(data)
            (count,) = _COUNT.unpack_from(data, _SNAPSHOT_HEAD.size)
        except struct.error as error:
            raise CorruptSnapshotError(str(error)) from None
        start = _SNAPSHOT_HEAD.size
        if version != _SNAPSHOT_VERSION or crc != crc32c(memoryview(data)[start:]):
            raise CorruptSnapshotError(f"version {version}, or the checksum does not match")
        if count * _SNAPSHOT_ENTRY.size != len(data) - start - _COUNT.size:
            raise CorruptSnapshotError(f"{count} entries do not fill the file")
        self.clear(end_offset)
        for number in range(count):
            fields = _SNAPSHOT_ENTRY.unpack_from(data, start + _COUNT.size + number * _SNAPSHOT_ENTRY.size)
            self._restore(fields)
        self.open_txns = dict(sorted(self.open_txns.items()))
        self._transactions_changed()

    def _restore(self, fields: tuple[int, ...]) -> None:
        producer_id, epoch, last_sequence, last_offset, offset_delta, timestamp, coordinator_epoch, first = fields
        entry = self.entries[producer_id] = ProducerEntry(producer_id, epoch)
        entry.last_timestamp = timestamp
        entry.coordinator_epoch = coordinator_epoch
        if last_offset >= 0:
            first_sequence = next_sequence(last_sequence, -offset_delta) if last_sequence >= 0 else NO_SEQUENCE
            entry.last_sequence = last_sequence
            entry.batches.append(
                BatchMemory(first_sequence, last_sequence, last_offset - offset_delta, last_offset, timestamp)
            )
        if first >= 0:
            entry.txn_first_offset = first
            self.open_txns[first] = producer_id


def _check_epoch(entry: ProducerEntry, epoch: int) -> None:
    """Raises KafkaError INVALID_PRODUCER_EPOCH for an old epoch."""
    if epoch < entry.epoch:
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"Epoch of producer {entry.producer_id} is {epoch}, which is smaller than the last seen epoch {entry.epoch}.",
        )


def _check_sequence(entry: ProducerEntry, epoch: int, base_sequence: int, expected: int) -> None:
    """Check the next sequence. Raises KafkaError OUT_OF_ORDER_SEQUENCE_NUMBER."""
    if epoch != entry.epoch:
        if base_sequence != 0 and entry.epoch != NO_EPOCH:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Producer {entry.producer_id} begins epoch {epoch} with sequence {base_sequence}; it must begin with 0.",
            )
    elif base_sequence != expected and entry.epoch != NO_EPOCH:
        raise KafkaError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Out of order sequence number for producer {entry.producer_id}: {base_sequence} (incoming seq. number), "
            f"{entry.last_sequence} (current end sequence number)",
        )
