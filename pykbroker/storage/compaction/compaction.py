"""Compaction as the loop sees it: selects the log that is due, plans the worker's job, and installs its result.

Rules of Kafka's LogCleanerManager: a log is cleaned from its first dirty offset (kept in cleaner-offset-checkpoint) up to
the first segment that is active, holds an open transaction, or is younger than min.compaction.lag.ms; it is due when its
dirty part is large enough (min.cleanable.dirty.ratio) or old enough (max.compaction.lag.ms).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pykbroker.storage.compaction.cleaning import CleanedGroup, CleaningJob, CleaningResult, LastRecord
from pykbroker.storage.directory import SWAP
from pykbroker.storage.log.leftovers import remove_unused_segments
from pykbroker.storage.log.retention import newest_record_ms
from pykbroker.storage.log.segment import Segment
from pykbroker.storage.log.snapshots import drop_snapshots
from pykbroker.storage.log.trimming import discard

if TYPE_CHECKING:
    from pykbroker.storage.log.log import Log

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Cleanable:
    """The part of a log that can be cleaned, and how urgent that is."""

    log: Log
    first_dirty_offset: int
    #: The base offset of the first segment that must not be cleaned.
    upper_offset: int
    ratio: float
    overdue: bool

    @property
    def due(self) -> bool:
        return self.overdue or self.ratio > self.log.config.min_cleanable_dirty_ratio


def cleanable(log: Log, checkpoint: int | None, now_ms: int) -> Cleanable | None:
    """The cleanable part of a compacted log; None if there is none, or a compaction or move is under way. Raises OSError."""
    if not log.config.compact or log.pinned_by is not None or len(log.segments) < 2:
        return None
    first_dirty = log.log_start_offset if checkpoint is None else max(checkpoint, log.log_start_offset)
    if first_dirty > log.log_end_offset:
        first_dirty = log.log_start_offset
    upper = _first_uncleanable(log, first_dirty, now_ms)
    if upper <= first_dirty:
        return None
    clean_bytes = dirty_bytes = 0
    oldest = now_ms
    for segment, following in zip(log.segments, log.segments[1:], strict=False):
        if segment.base_offset >= upper:
            break
        if following.base_offset <= first_dirty:
            clean_bytes += segment.size
        else:
            dirty_bytes += segment.size
            if segment.first_batch_timestamp() > 0:
                oldest = min(oldest, segment.first_batch_timestamp())
    if dirty_bytes == 0:
        return None
    overdue = oldest < now_ms - log.config.max_compaction_lag_ms
    return Cleanable(log, first_dirty, upper, dirty_bytes / (clean_bytes + dirty_bytes), overdue)


def _first_uncleanable(log: Log, first_dirty: int, now_ms: int) -> int:
    """The beginning of the first segment that is active, uncommitted, unsynced, undecided or too young.

    A transaction is undecided until its marker is synced: after a power loss it could end the other way, and records that
    it superseded would be missing.
    """
    limit = min(log.stable_point, log.recovery_point, log.high_watermark, log.active.base_offset)
    lag = log.config.min_compaction_lag_ms
    if lag > 0:
        for segment in log.segments[log.segment_number(first_dirty) : -1]:
            if newest_record_ms(segment) > now_ms - lag:
                limit = min(limit, segment.base_offset)
                break
    return log.segments[log.segment_number(limit)].base_offset


def due_logs(logs: Iterable[tuple[Log, int | None]], now_ms: int) -> list[tuple[Log, int | None]]:
    """Those of these logs that are due, each with its checkpoint, the dirtiest first. Runs in a thread and reads what planning reads, so
    that the loop does not wait for the disk. Logs that fail come before all others: errors are left to the planning.
    """
    due: list[tuple[float, tuple[Log, int | None]]] = []
    for log, checkpoint in logs:
        try:
            found = cleanable(log, checkpoint, now_ms)
            if found is not None and found.due:
                due.append((found.ratio, (log, checkpoint)))
                log.aborted_transactions(log.segments[0].base_offset, found.upper_offset)
        except Exception:  # noqa: BLE001 - see above
            due.append((math.inf, (log, checkpoint)))
    due.sort(key=lambda each: -each[0])
    return [each for _, each in due]


class CompactionPlan:
    """One compaction: ``cleaning.clean`` does ``job`` in any thread or process, then ``finish`` is called."""

    def __init__(self, chosen: Cleanable, now_ms: int, memory_bytes: int) -> None:
        log = self.log = chosen.log
        self._segments = [segment for segment in log.segments if segment.base_offset < chosen.upper_offset]
        self.job = CleaningJob(
            directory=log.path,
            segments=[(segment.base_offset, segment.size, bool(segment.aborted)) for segment in self._segments],
            first_dirty_offset=chosen.first_dirty_offset,
            upper_offset=chosen.upper_offset,
            now_ms=now_ms,
            aborted=log.aborted_transactions(self._segments[0].base_offset, chosen.upper_offset),
            last_records={
                entry.producer_id: LastRecord(entry.batches[-1].last_offset if entry.batches else -1, entry.epoch)
                for entry in log.producers.entries.values()
            },
            config=log.config,
            topic_id=log.topic_id,
            memory_bytes=memory_bytes,
        )
        log.pin(self)

    def finish(self, result: CleaningResult) -> int | None:
        """Replace the old segments by the new ones; returns the offset below which the log is clean now.

        None if the log was truncated or deleted meanwhile: then nothing changes. Raises KafkaError KAFKA_STORAGE_ERROR.
        """
        log = self.log
        if log.pinned_by is not self:
            self._remove_swap_files(result)
            return None
        log.unpin(self)
        log.directory.check()
        try:
            for group in result.groups:
                self._install(group)
        except OSError as error:
            raise log.directory.failed(error, f"compacting {log.name}") from error
        log.must_sync([log.active.log.path])
        logger.info(
            "Compacted %s up to offset %d: %d of %d records, %d of %d bytes are left",
            log.name,
            result.end_offset,
            result.records_kept,
            result.records_read,
            result.bytes_written,
            result.bytes_read,
        )
        return result.end_offset

    def remove_leftovers(self) -> None:
        """After a failure: remove the files written so far, which may fill the disk; in any thread. Raises KafkaError
        KAFKA_STORAGE_ERROR.
        """
        directory = self.log.directory
        try:
            remove_unused_segments(directory.disk, self.job.directory)
        except OSError as error:
            raise directory.failed(error, f"removing what a compaction of {self.log.name} has left") from error

    def _install(self, group: CleanedGroup) -> None:
        """Rename old files to ``.deleted``, then new ones to their final names; after a crash in between recovery completes it."""
        log = self.log
        replaced = set(group.replaced)
        old = [segment for segment in log.segments if segment.base_offset in replaced]
        new = Segment(
            log.directory.disk,
            log.path,
            group.base_offset,
            created_ms=old[0].created_ms,
            has_aborted=group.has_aborted,
            suffix=SWAP,
        )
        log.replace_segments(old, [new])
        for segment in old:
            discard(log, segment)
        new.rename("")
        drop_snapshots(log, replaced - {group.base_offset})

    def _remove_swap_files(self, result: CleaningResult) -> None:
        disk = self.log.directory.disk
        for group in result.groups:
            for path in Segment(disk, self.job.directory, group.base_offset, suffix=SWAP).paths():
                disk.remove(path)
