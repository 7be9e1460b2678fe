"""One compaction, on files alone, so that it may run in another thread or process.

Kafka's log cleaner in two passes. The first reads the dirty part of the log and finds each key's newest record; it stops
when its memory is used up, and leaves the rest to the next compaction. The second copies all segments up to there without
superseded records: those with a newer record of their key, records of aborted transactions, and expired tombstones and
transaction markers (KIP-534). Offsets, order and codecs stay; a batch that loses nothing is copied unchanged, a dirty one
without being decompressed again. Keys are compared in full, not by a hash.

New segments are written as ``.cleaned``, synced, and renamed to ``.swap``: from then on recovery completes the swap.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pykbroker.storage.checkpoints import PARTITION_METADATA, decode_partition_metadata
from pykbroker.storage.compaction.cleaned_batches import (
    ScannedBatch,
    emptied,
    keep_records,
    scan_batch,
    with_delete_horizon,
)
from pykbroker.storage.compaction.cleaned_transactions import CleanedTransactions
from pykbroker.storage.compaction.large_batches import CONTENT_AT_ONCE, LargeBatch, StaysWhole, is_large
from pykbroker.storage.compaction.newest_records import GOES, STAYS, NewestRecords
from pykbroker.storage.directory import CLEANED, SWAP, mark_compacted
from pykbroker.storage.index.aborted import AbortedTxn
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.content import compression_level
from pykbroker.storage.log.segment import Segment
from pykbroker.wire.batch_header import BatchHeader
from pykbroker.wire.errors import TooMuchContent
from pykbroker.wire.primitives import Buffer

if TYPE_CHECKING:
    from pykbroker.storage.disk import Disk

_WRITE_BYTES = 1024 * 1024
#: The largest timestamp of a batch.
_LAST_MS = 2**63 - 1


@dataclass(slots=True)
class LastRecord:
    """The state of a producer: its last data batch, or only an epoch if its data is gone."""

    last_data_offset: int
    epoch: int


@dataclass(slots=True)
class CleaningJob:
    """What to clean, as plain values."""

    directory: str
    #: (base offset, size, whether it has a transaction index), oldest first, all closed; all end before ``upper_offset``.
    segments: list[tuple[int, int, bool]]
    first_dirty_offset: int
    upper_offset: int
    now_ms: int
    aborted: list[AbortedTxn]
    last_records: dict[int, LastRecord]
    config: LogConfig
    topic_id: bytes
    memory_bytes: int


@dataclass(slots=True)
class CleanedGroup:
    """A new segment, and those that it replaces."""

    base_offset: int
    replaced: list[int]
    size: int
    has_aborted: bool


@dataclass(slots=True)
class CleaningResult:
    """The result of a compaction; the log is clean below ``end_offset``."""

    groups: list[CleanedGroup]
    end_offset: int
    #: False if the disk had no room for the segments after the groups.
    complete: bool = True
    bytes_read: int = 0
    bytes_written: int = 0
    records_read: int = 0
    records_kept: int = 0


def clean(job: CleaningJob, disk: Disk, pause: Callable[[int], None] | None = None) -> CleaningResult:
    """Do the job. ``pause`` is called with the number of bytes read or written, and may wait to keep a rate.

    It uses no more than half of the free disk space, since replaced files are removed later and producers append meanwhile.
    Beyond that, the rest is left to the next compaction. Raises NoRoomError if there is no room for the first segment, or
    OSError; files written until then are useless (``leftovers``).
    """
    cleaner = _Cleaner(job, disk, pause or _no_pause)
    cleaner.map_keys()
    return cleaner.rewrite()


class NoRoomError(OSError):
    """The disk has no room for another segment."""

    def __init__(self, needed: int, free: int) -> None:
        super().__init__(
            errno.ENOSPC, f"it needs {needed} bytes beside those that are kept for producers, and {free} are free"
        )


def _no_pause(_bytes: int) -> None:
    pass


class _Cleaner:
    def __init__(self, job: CleaningJob, disk: Disk, pause: Callable[[int], None]) -> None:
        self._job = job
        self._disk = disk
        self._pause = pause
        self._newest = NewestRecords(job.memory_bytes, job.upper_offset - job.segments[0][0])
        #: Number of the next dirty record of the second pass.
        self._next = 0
        #: Last offset that the first pass has covered.
        self._mapped = job.first_dirty_offset - 1
        self._result = CleaningResult([], job.first_dirty_offset)
        self._read_since_pause = 0
        #: The time from which tombstones and markers found now may be removed.
        self._horizon = min(job.now_ms + job.config.delete_retention_ms, _LAST_MS)

    # -- first pass ---------------------------------------------------------------------------------------------------

    def map_keys(self) -> None:
        """Find the newest record of each key in the dirty part, as far as memory suffices; at least one batch."""
        job, newest = self._job, self._newest
        start = job.first_dirty_offset
        ends = [base for base, _, _ in job.segments[1:]] + [job.upper_offset]
        dirty = [(entry, end) for entry, end in zip(job.segments, ends, strict=True) if end > start]
        begin = dirty[0][0][0]
        # The marker of a transaction that ended before lies outside this range.
        transactions = CleanedTransactions([txn for txn in job.aborted if txn.last_offset >= begin])
        for (base, size, has_aborted), following in dirty:
            segment = Segment(self._disk, job.directory, base, has_aborted=has_aborted)
            for _, header, data in segment.batches(0, size):
                self._count(header.size)
                if header.is_control:
                    transactions.end(header, data)
                    aborted = True
                else:
                    aborted = transactions.is_aborted(header)
                if header.last_offset < start:
                    continue
                if aborted:
                    newest.pass_over(header.record_count)
                else:
                    self._map_batch(header, data)
                self._mapped = max(self._mapped, header.last_offset)
                if newest.full:
                    return
            segment.close()
            self._mapped = max(self._mapped, following - 1)

    def _map_batch(self, header: BatchHeader, data: Buffer) -> None:
        scanned = self._scan(header, data)
        newest = self._newest
        if isinstance(scanned, ScannedBatch):
            newest.add(scanned)
            return
        end = len(newest.fates) + header.record_count
        with contextlib.suppress(StaysWhole):
            for keys, tombstones in scanned.some_keys():
                newest.add_keys(keys, tombstones)
                if newest.full:
                    break
        newest.pass_over(end - len(newest.fates))  # what was not read stays, and supersedes nothing

    def _scan(self, header: BatchHeader, data: Buffer) -> ScannedBatch | LargeBatch:
        if not is_large(header, self._job.config):
            with contextlib.suppress(TooMuchContent):
                return scan_batch(header, data, CONTENT_AT_ONCE)
        return LargeBatch(header, data, self._job.config, self._job.memory_bytes)

    # -- second pass --------------------------------------------------------------------------------------------------

    def rewrite(self) -> CleaningResult:
        """Copy the segments, group by group, without superseded records."""
        result = self._result
        result.end_offset = self._mapped + 1
        transactions = CleanedTransactions(self._job.aborted)
        written: list[Segment] = []
        free = self._free_bytes()
        kept = free // 2
        for group in self._groups():
            free = self._free_bytes()
            needed = sum(size for _, size, _ in group)
            if needed + kept > free:
                if not written:
                    raise NoRoomError(needed, free)
                # The groups written so far are clean: newer records of their keys come later in the log.
                result.end_offset = max(group[0][0], self._job.first_dirty_offset)
                result.complete = False
                break
            written.append(self._rewrite_group(group, transactions))
        metadata = self._disk.read(f"{self._job.directory}/{PARTITION_METADATA}")
        if decode_partition_metadata(metadata) != self._job.topic_id:
            raise FileNotFoundError(f"{self._job.directory} belongs to another topic by now")
        mark_compacted(self._disk, self._job.directory)
        for segment in written:
            segment.rename(SWAP)
        self._disk.sync_directory(self._job.directory)
        return result

    def _free_bytes(self) -> int:
        return self._disk.free_bytes(self._job.directory)[1]

    def _groups(self) -> list[list[tuple[int, int, bool]]]:
        """Group neighbouring segments that fit into one."""
        groups: list[list[tuple[int, int, bool]]] = []
        size = 0
        for entry in self._job.segments:
            if entry[0] > self._mapped:
                break
            fits = groups and size + entry[1] <= self._job.config.segment_bytes
            if fits and self._end_of(entry) - groups[-1][0][0] < 2**31:
                groups[-1].append(entry)
                size += entry[1]
            else:
                groups.append([entry])
                size = entry[1]
        return groups

    def _end_of(self, entry: tuple[int, int, bool]) -> int:
        number = self._job.segments.index(entry) + 1
        return self._job.segments[number][0] if number < len(self._job.segments) else self._job.upper_offset

    def _rewrite_group(self, group: list[tuple[int, int, bool]], transactions: CleanedTransactions) -> Segment:
        job = self._job
        target = Segment.create(self._disk, job.directory, group[0][0], job.now_ms, CLEANED)
        out = _Output(target, job.config, self._count)
        for base, size, has_aborted in group:
            source = Segment(self._disk, job.directory, base, has_aborted=has_aborted)
            for _, header, data in source.batches(0, size):
                self._count(header.size)
                self._result.bytes_read += header.size
                self._result.records_read += header.record_count
                fates = self._fates(header)
                if header.is_control:
                    empty, txn = transactions.end(header, data)
                    kept = self._keep_marker(header, data, empty=empty)
                    if txn is not None:
                        target.aborted.append(txn)
                else:
                    kept = self._keep_data(header, data, fates, aborted=transactions.is_aborted(header))
                if kept is not None:
                    self._result.records_kept += kept[0].record_count
                    out.add(*kept)
            source.close()
        out.finish()
        self._result.bytes_written += target.size
        self._result.groups.append(
            CleanedGroup(target.base_offset, [base for base, _, _ in group], target.size, bool(target.aborted))
        )
        target.close()
        return target

    def _must_leave_trace(self, header: BatchHeader) -> bool:
        """Whether an empty batch must stay: for a producer's last batch, to keep its sequence, and at the end of the
        cleaned range, so that the log has no gap there.
        """
        if header.last_offset + 1 == self._job.upper_offset:
            return True
        last = self._job.last_records.get(header.producer_id)
        if last is None or header.producer_id < 0:
            return False
        if last.last_data_offset >= 0:
            return header.last_offset == last.last_data_offset
        return header.is_control and header.producer_epoch == last.epoch

    def _keep_marker(self, header: BatchHeader, data: Buffer, *, empty: bool) -> tuple[BatchHeader, Buffer] | None:
        """Whether a marker stays: it is removed delete.retention.ms after the data of its transaction."""
        if empty and header.record_count == 0:
            return (header, data) if self._must_leave_trace(header) else None
        if empty and header.has_delete_horizon and header.base_timestamp <= self._job.now_ms:
            return self._trace(header)
        if empty and not header.has_delete_horizon:
            return with_delete_horizon(
                header, data, self._horizon, compression_level(self._job.config, header.compression)
            )
        return header, data

    def _fates(self, header: BatchHeader) -> bytearray | None:
        """The first pass' result for the records of a dirty batch; None for a clean one. Call it once for each batch."""
        if header.last_offset < self._job.first_dirty_offset:
            return None
        first = self._next
        self._next += header.record_count
        return self._newest.fates[first : self._next]

    def _keep_data(
        self, header: BatchHeader, data: Buffer, fates: bytearray | None, *, aborted: bool
    ) -> tuple[BatchHeader, Buffer] | None:
        if header.base_offset > self._mapped:
            return header, data
        count = header.record_count
        if aborted or count == 0 or (fates is not None and fates.count(GOES) == count):
            return self._trace(header)
        if fates is not None and fates.count(STAYS) == count:
            return header, data
        batch = self._scan(header, data)
        if isinstance(batch, LargeBatch):
            try:
                return self._keep_large(batch, header, data, fates)
            except StaysWhole:
                return header, data
        kept = self._kept(batch, fates)
        if not kept:
            return self._trace(header)
        level = compression_level(self._job.config, header.compression)
        if len(kept) < count:
            header, data = keep_records(batch, kept, level)
        if not header.has_delete_horizon and not set(kept).isdisjoint(batch.tombstones):
            return with_delete_horizon(header, data, self._horizon, level)
        return header, data

    def _keep_large(
        self, batch: LargeBatch, header: BatchHeader, data: Buffer, fates: bytearray | None
    ) -> tuple[BatchHeader, Buffer] | None:
        superseded = self._newest.has

        def stays(number: int, key: bytes | None) -> bool:
            return fates[number] != GOES if fates is not None else key is not None and not superseded(key)

        expired = header.has_delete_horizon and self._job.now_ms >= header.base_timestamp
        staying, has_tombstone = batch.staying(stays, without_tombstones=expired)
        if not any(staying):
            return self._trace(header)
        marks = has_tombstone and not header.has_delete_horizon
        if all(staying) and not marks:
            return header, data
        level = compression_level(self._job.config, header.compression)
        return batch.written(staying, self._horizon if marks else None, level)

    def _kept(self, batch: ScannedBatch, fates: bytearray | None) -> list[int]:
        """Numbers of the records that stay: newest of their key, and no expired tombstone."""
        if fates is not None:
            kept = [number for number, fate in enumerate(fates) if fate != GOES]
        else:
            superseded = self._newest.has
            kept = [number for number, key in enumerate(batch.keys) if key is not None and not superseded(key)]
        if batch.tombstones and batch.header.has_delete_horizon and self._job.now_ms >= batch.header.base_timestamp:
            over = set(batch.tombstones)
            kept = [number for number in kept if number not in over]
        return kept

    def _trace(self, header: BatchHeader) -> tuple[BatchHeader, Buffer] | None:
        """The replacement of a batch that loses all its records, if any."""
        return emptied(header) if self._must_leave_trace(header) else None

    def _count(self, size: int) -> None:
        self._read_since_pause += size
        if self._read_since_pause >= _WRITE_BYTES:
            self._pause(self._read_since_pause)
            self._read_since_pause = 0


class _Output:
    """Writes batches to a new segment, in large pieces."""

    def __init__(self, segment: Segment, config: LogConfig, count: Callable[[int], None]) -> None:
        self._segment = segment
        self._config = config
        self._count = count
        self._pieces: list[Buffer] = []
        self._headers: list[BatchHeader] = []
        self._bytes = 0

    def add(self, header: BatchHeader, data: Buffer) -> None:
        self._pieces.append(data)
        self._headers.append(header)
        self._bytes += header.size
        if self._bytes >= _WRITE_BYTES:
            self._write()

    def _write(self) -> None:
        if not self._pieces:
            return
        self._segment.extend(b"".join(self._pieces), self._headers, self._config)
        self._count(self._bytes)
        self._pieces.clear()
        self._headers.clear()
        self._bytes = 0

    def finish(self) -> None:
        """Write the rest, complete the indexes, sync all."""
        self._write()
        self._segment.finish()
        self._segment.sync()
