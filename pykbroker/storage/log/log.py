"""The log of one partition: appends, reads, and the operations of its other modules.

All methods run in the thread that owns the logs, except ``ReadPlan.read``, ``flush``, ``FlushPlan`` and the look-ups
(``lookup``), which may run in any. Errors are KafkaError: a client's mistake, or KAFKA_STORAGE_ERROR after a disk error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pykbroker.runtime.waits import Deferred
from pykbroker.storage.index.aborted import AbortedTxn
from pykbroker.storage.index.index import Reader, read_blocking
from pykbroker.storage.log import trimming
from pykbroker.storage.log.batches import writable_bytes
from pykbroker.storage.log.flushing import FlushPlan, flush
from pykbroker.storage.log.lengths import fit
from pykbroker.storage.log.producers import BatchMemory, ProducerEntry, next_sequence
from pykbroker.storage.log.reading import MOST_WALKED, ReadPlan, aborted_transactions
from pykbroker.storage.log.segment import Segment
from pykbroker.storage.log.state import LogState
from pykbroker.storage.log.validate import Origin, holds_one_record, validate_batch
from pykbroker.wire.batch_header import (
    ATTRIBUTES_AT,
    LEAST_BEGIN,
    LOG_OVERHEAD,
    MAGIC,
    BatchHeader,
    pack_place,
    place_batch,
    unpack_batch_begin,
    write_plain_header,
)
from pykbroker.wire.compression import Compression
from pykbroker.wire.control_records import decode_end_txn_marker
from pykbroker.wire.crc import crc32c
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import decode_records

if TYPE_CHECKING:
    from pykbroker.storage.log.lookup import Means, TimestampOffset
    from pykbroker.storage.log.validate import Allowance


@dataclass(slots=True, eq=False, repr=False)
class AppendResult:
    """The place of an appended batch in the log."""

    base_offset: int
    last_offset: int
    #: The timestamp in milliseconds if the log sets it (or the repeated batch has one), else -1.
    log_append_time: int
    log_start_offset: int
    #: A repeated batch: nothing was written.
    duplicate: bool = False
    #: Set by the partition, as ``committed``: completes when the leader's own copy of the batch is as durable as ``flush.messages``
    #: asks, which acks=1 waits for. Fails with KafkaError if it may be lost; None if it is already.
    synced: Deferred[None] | None = None
    #: Completes when the batch is committed, which readers, acks=all, coordinators and markers wait for.
    committed: Deferred[None] | None = None


#: The largest attributes of a batch that is in no transaction and has its producer's timestamps: those of the last codec.
_ONLY_CODEC = int(Compression.ZSTD)


class Log(LogState):
    """A partition's log. Made by ``LogManager.open``."""

    __slots__ = ()

    # -- appending ----------------------------------------------------------------------------------------------------

    def append_as_leader(
        self,
        records: Buffer,
        *,
        leader_epoch: int,
        now_ms: int,
        origin: Origin = Origin.CLIENT,
        transaction_version: int = 0,
    ) -> AppendResult:
        """Validate one batch, assign its offsets, and write it.

        ``records`` is patched in place if it is writable, and not kept. ``transaction_version`` is that of the
        client, or of the coordinator which writes an end-of-transaction marker. Raises what ``validate_batch`` raises,
        RECORD_LIST_TOO_LARGE for a batch larger than a segment, what ``Producers`` raise (INVALID_PRODUCER_EPOCH,
        OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE, TRANSACTION_COORDINATOR_FENCED), and KAFKA_STORAGE_ERROR.
        """
        return self.append_batch(records, leader_epoch, now_ms, origin, transaction_version, None, None)

    def append_batch(
        self,
        records: Buffer,
        leader_epoch: int,
        now_ms: int,
        origin: Origin,
        transaction_version: int,
        allowance: Allowance | None,
        validated: tuple[BatchHeader, Buffer] | None,
    ) -> AppendResult:
        """``append_as_leader``. ``allowance`` is that of ``validate_batch``; ``validated`` is what it or ``read_content`` returned
        for a batch that has been validated before.
        """
        if self.directory.offline:
            raise self.directory.refusal()
        header, data = validated or validate_batch(records, self.config, origin, now_ms, self.name, allowance)
        if len(data) > self.config.segment_bytes:
            raise KafkaError(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"Message batch size is {len(data)} bytes, which exceeds the maximum configured segment size of "
                f"{self.config.segment_bytes}.",
            )
        first = self.log_end_offset
        header.base_offset = first
        marker = aborted = None
        if header.producer_id >= 0:
            if header.is_control:
                marker = decode_end_txn_marker(decode_records(data, header=header)[0])
                self.producers.check_marker(header, marker, transaction_version)
                aborted = self.producers.aborted_by(header, marker)
            else:
                repeated = self.producers.check_batch(
                    header, check_sequence=origin is Origin.CLIENT, transaction_version=transaction_version
                )
                if repeated is not None:
                    return self._repeat(repeated)
        is_writable = type(data) is bytearray or (type(data) is memoryview and not data.readonly)
        writable: Any = data if is_writable else writable_bytes(data)  # which asks the same: each append comes here
        place_batch(writable, first, header.batch_length, leader_epoch)
        self._write(header, writable, leader_epoch, now_ms, aborted)
        self.producers.note(header, marker)
        return AppendResult(
            first, self.log_end_offset - 1, now_ms if self.config.log_append_time else -1, self.log_start_offset
        )

    def append_usual(self, records: memoryview, leader_epoch: int, now_ms: int) -> int:
        """``append_batch`` for a client's batch that breaks no rule and needs nothing but to be written and its producer noted: returns its
        base offset. -1 for any other, with which nothing was done: ``append_batch`` says what is to be done with it. What is written so
        is durable enough without a sync. Raises KafkaError KAFKA_STORAGE_ERROR.
        """
        config, directory, size = self.config, self.directory, len(records)
        if size < LEAST_BEGIN or not config.opaque_batches or directory.offline or directory.was_full:
            return -1
        base, length, _, magic, crc, flags, delta, begins, ends, producer, epoch, sequence, count, a, b, c = (
            unpack_batch_begin(records)
        )
        first = self.log_end_offset
        last = first + delta
        if (
            base
            or length != size - LOG_OVERHEAD
            or magic != MAGIC
            or not 0 <= flags <= _ONLY_CODEC
            or not 0 < count == delta + 1
            or length > config.max_message_bytes - 12
            or not begins <= ends <= now_ms + config.timestamp_after_max_ms
            or last - self.recovery_point + 1 >= config.flush_messages
            or leader_epoch != self.epochs.latest
            or not (flags or (holds_one_record(records, size, a, b, c) if count == 1 else fit(records, count)))
            or records.readonly
        ):
            return -1
        entry = None
        if producer >= 0:
            entry = self.producers.entries.get(producer)
            if entry is None or not entry.goes_on(epoch, sequence):
                return -1
        segment = self.segments[-1]
        if segment.must_roll(size, last, ends, now_ms, config) or crc32c(records[ATTRIBUTES_AT:]) != crc:
            return -1  # the checksum takes longest, and ``append_batch`` computes it again: so it is last
        pack_place(records, 0, first, length, leader_epoch)
        try:
            segment.append(records, first, last, ends, config)
        except OSError as error:
            raise self._taken_back(segment, first, error) from error
        self.log_end_offset = self.producers.end_offset = last + 1
        if entry is not None:
            entry.remember(epoch, BatchMemory(sequence, next_sequence(sequence, delta), first, last, ends))
        return first

    def append_own(self, batch: bytearray, count: int, leader_epoch: int, now_ms: int) -> int:
        """``append_batch`` for ``count`` records of this process, with keys and the time ``now_ms``, that need nothing but a header, which
        this writes, and to be written: returns the offset of the first. -1 where there is more to it, and nothing was done. What is
        written so is durable enough without a sync. Raises KafkaError KAFKA_STORAGE_ERROR.
        """
        config, directory, segment, size = self.config, self.directory, self.segments[-1], len(batch)
        first = self.log_end_offset
        end = first + count
        if (
            not config.keeps_own_batches
            or directory.offline
            or directory.was_full
            or size - LOG_OVERHEAD > config.max_message_bytes - 12
            or end - self.recovery_point >= config.flush_messages
            or leader_epoch != self.epochs.latest
            or segment.must_roll(size, end - 1, now_ms, now_ms, config)
        ):
            return -1
        write_plain_header(batch, first, leader_epoch, now_ms, count)
        try:
            segment.append(batch, first, end - 1, now_ms, config)
        except OSError as error:
            raise self._taken_back(segment, first, error) from error
        self.log_end_offset = self.producers.end_offset = end
        return first

    def _repeat(self, batch: BatchMemory) -> AppendResult:
        """The answer for a repeated batch."""
        return AppendResult(
            batch.first_offset, batch.last_offset, batch.timestamp, self.log_start_offset, duplicate=True
        )

    def _write(
        self, header: BatchHeader, data: Buffer, leader_epoch: int, now_ms: int, aborted: AbortedTxn | None
    ) -> None:
        """Write the batch at the end of the active segment, or to a new one; atomically."""
        last = header.base_offset + header.last_offset_delta
        segment = self.segments[-1]
        config = self.config
        if segment.must_roll(len(data), last, header.max_timestamp, now_ms, config):
            segment = self.roll(now_ms)
        try:
            if aborted is not None:
                segment.aborted.append(aborted)
            segment.append(data, header.base_offset, last, header.max_timestamp, config)
        except OSError as error:
            raise self._taken_back(segment, header.base_offset, error) from error
        if self.directory.was_full:
            self.directory.succeeded()
        if leader_epoch != self.epochs.latest:
            self.epochs.assign(leader_epoch, header.base_offset)
        self.log_end_offset = last + 1

    def _taken_back(self, segment: Segment, offset: int, error: OSError) -> KafkaError:
        """Restore the segment after a failed append; returns the KafkaError KAFKA_STORAGE_ERROR to raise."""
        try:
            segment.take_back(segment.size)
            segment.aborted.truncate(offset)
        except OSError as second:
            return self.directory.failed(second, f"taking back a failed append to {self.name}")
        return self.directory.refused(error, f"appending to {self.name}")

    def append_as_follower(self, records: Buffer, *, leader_epoch: int, now_ms: int) -> int:
        """Append the batches of ``records``, which were fetched from the leader of ``leader_epoch`` at the log end offset; returns
        the bytes that were appended.

        Offsets and leader epochs stay as they are, and producers are noted without a check: the leader has checked them. In an empty
        log the first batch may begin before the log end offset, since the leader's may begin within a batch. Raises what
        ``fetched_batches`` raises, CORRUPT_MESSAGE for a batch before the log end offset, and KAFKA_STORAGE_ERROR; the batches before
        it may have been appended then.
        """
        from pykbroker.storage.log.fetched import append_fetched, fetched_batches

        if self.directory.offline:
            raise self.directory.refusal()
        return append_fetched(self, fetched_batches(records, leader_epoch, self.name), now_ms, self._write)

    def begin_epoch(self, leader_epoch: int) -> None:
        """Record that ``leader_epoch`` begins at the log end offset. For the leader of that epoch alone: what others have then may not
        be what it has.
        """
        self.epochs.assign(leader_epoch, self.log_end_offset)

    def roll(self, now_ms: int) -> Segment:
        """Begin a new segment at the log end offset. Raises KafkaError KAFKA_STORAGE_ERROR; the old one then stays active."""
        return trimming.roll(self, now_ms)

    # -- reading ------------------------------------------------------------------------------------------------------

    def plan_read(
        self, offset: int, max_bytes: int, *, upper_offset: int | None = None, at_least_one: bool = True
    ) -> ReadPlan | None:
        """A read of whole batches from the one that contains ``offset``; None if nothing is below ``upper_offset``.

        ``upper_offset`` is the high watermark or the last stable offset; by default the log end offset. Raises KafkaError
        OFFSET_OUT_OF_RANGE outside [log start offset, log end offset].
        """
        if self.directory.offline:
            raise self.directory.refusal()
        end = self.log_end_offset
        if not self.log_start_offset <= offset <= end:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Received request for offset {offset} for partition {self.name}, but we only have log segments in the "
                f"range {self.log_start_offset} to {end}.",
            )
        upper = end if upper_offset is None or upper_offset > end else upper_offset
        if offset >= upper:
            return None
        return ReadPlan(self, self.segment_number(offset), offset, max_bytes, upper, at_least_one=at_least_one)

    def read_rest(self, offset: int, max_bytes: int, upper_offset: int) -> Buffer | None:
        """Everything from the batch that contains ``offset`` on, which is all that readers of the newest records ask for: if it is in memory,
        at most ``max_bytes``, and the log ends at ``upper_offset``. Empty where nothing is below that; None where ``plan_read`` must
        find out, which also says what is wrong. Raises KafkaError KAFKA_STORAGE_ERROR.
        """
        end = self.log_end_offset
        if not self.log_start_offset <= offset <= end or self.directory.offline:
            return None
        if offset >= upper_offset:
            return b""
        if upper_offset != end:
            return None
        try:
            return self.segments[-1].read_rest(offset, max_bytes)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.directory.unread(error, f"reading {self.name}") from error

    def read_on(self, offset: int, max_bytes: int, upper_offset: int) -> tuple[Buffer, int] | None:
        """Whole batches from the one that contains ``offset`` on, and the offset after them, for readers that go on where one ended
        (``Segment.read_on``), or begin where a segment does. None where ``plan_read`` must find out, which also says what is wrong.
        Raises KafkaError KAFKA_STORAGE_ERROR.
        """
        if self.directory.offline or max_bytes > MOST_WALKED or not self.log_start_offset <= offset < upper_offset:
            return None
        try:
            return self.segments[self.segment_number(offset)].read_on(offset, max_bytes, upper_offset)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.directory.unread(error, f"reading {self.name}") from error

    def aborted_transactions(
        self, start_offset: int, upper_offset: int, read: Reader = read_blocking
    ) -> list[AbortedTxn]:
        """The aborted transactions that overlap [start_offset, upper_offset), for fetches with read_committed.

        With ``read_cached`` it raises WouldBlockError if it would wait for the disk: then retry in a thread.
        """
        return aborted_transactions(self, start_offset, upper_offset, read)

    def offset_for_timestamp(
        self, timestamp: int, upper_offset: int | None = None, means: Means | None = None
    ) -> TimestampOffset | None:
        """The first record with at least ``timestamp``, below ``upper_offset``; None if there is none. Waits for the disk:
        call it in a thread. Raises WireError, NeedsMemory, or KafkaError INVALID_RECORD for a record that is too large.
        """
        from pykbroker.storage.log import lookup

        return lookup.offset_for_timestamp(self, timestamp, upper_offset, means or lookup.ALL_MEANS)

    def offset_of_max_timestamp(self, means: Means | None = None) -> TimestampOffset | None:
        """The first record with the largest timestamp of the log; None if no record has one (KIP-734). Waits for the disk and
        raises as ``offset_for_timestamp``.
        """
        from pykbroker.storage.log import lookup

        return lookup.offset_of_max_timestamp(self, means or lookup.ALL_MEANS)

    def active_producers(self) -> list[ProducerEntry]:
        """The state of every known producer id, for DescribeProducers; read-only."""
        return list(self.producers.entries.values())

    def has_open_transaction(self, producer_id: int, epoch: int | None = None) -> bool:
        """Whether the producer has an open transaction on this partition, in this epoch if one is given."""
        entry = self.producers.entries.get(producer_id)
        return entry is not None and entry.txn_first_offset >= 0 and epoch in (None, entry.epoch)

    def guard(self, producer_id: int) -> object:
        """What stands for a question to the coordinator about this producer's transaction, for ``unguard`` with the answer."""
        guard = object()
        self.producers.guards.setdefault(producer_id, set()).add(guard)
        return guard

    def unguard(self, producer_id: int, guard: object) -> bool:
        """Whether no marker of the producer has come since its ``guard`` was made."""
        guards = self.producers.guards
        of_producer = guards.get(producer_id, set())
        if guard not in of_producer:
            return False
        of_producer.remove(guard)
        if not of_producer:
            del guards[producer_id]
        return True

    def epoch_at(self, offset: int) -> int:
        """The leader epoch in which ``offset`` was (or would be) written; -1 if unknown."""
        return self.epochs.epoch_at(offset)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) for OffsetForLeaderEpoch; (-1, -1) if unknown."""
        return self.epochs.end_offset(epoch, self.log_end_offset)

    # -- changing -----------------------------------------------------------------------------------------------------

    def delete_records_before(self, offset: int) -> int:
        """Raise the log start offset to ``offset`` and drop whole segments below it; returns the new log start offset.

        Raises KafkaError OFFSET_OUT_OF_RANGE beyond the high watermark.
        """
        return trimming.delete_records_before(self, offset)

    def truncate_to(self, offset: int) -> None:
        """Drop every batch that ends at ``offset`` or later; the log then ends at ``offset``, unless it ended before.

        If the checkpoints have a recovery point of the log, write them before anything is appended again: otherwise the
        next recovery would skip new batches (Apache Kafka writes them too).
        """
        self.unpin()
        trimming.truncate_to(self, offset)

    def start_over(self, offset: int) -> None:
        """Drop everything; the log is empty and begins at ``offset``, where its leader's begins. As for ``truncate_to``, write the
        checkpoints before anything is appended again.
        """
        self.unpin()
        trimming.start_over(self, offset)

    # -- durability ---------------------------------------------------------------------------------------------------

    def plan_flush(self) -> FlushPlan | None:
        """The flush that lets everything appended so far survive a power loss; None if all is synced."""
        return FlushPlan(self) if self.unflushed else None

    def flush(self) -> None:
        """Sync the whole log; in any thread, while appends continue. Raises KafkaError KAFKA_STORAGE_ERROR."""
        flush(self)

    def close(self) -> None:
        """Close the log cleanly: flush, write a producer snapshot at the end, complete the indexes, close descriptors."""
        trimming.close(self)
