"""What is known of one log, and the transitions by which it changes.

``Log`` is this and what can be asked of it. The operations on a log that have files of their own (``recovery``,
``trimming``, ``flushing``, ``retention``, compaction, moves) are given it, and change it by the transitions alone: a test
sees to it that no other module assigns an attribute of a log.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pykbroker.storage.directory import LogDirectory
from pykbroker.storage.disk import File
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.epochs import LeaderEpochs
from pykbroker.storage.log.producers import Producers
from pykbroker.storage.log.segment import Segment
from pykbroker.wire.batch_header import BatchHeader
from pykbroker.wire.primitives import Buffer

#: Flushes may begin and end in several threads at once. Never held while the disk is waited for.
_flushing = threading.Lock()


@dataclass(slots=True, eq=False)
class FlushWork:
    """What one flush has to sync, and what is on the disk then."""

    end_offset: int
    stable_offset: int
    #: The batches of the segment that was active when it began.
    active: File
    #: Other files, and the log's directory itself while it is new.
    paths: list[str]
    #: For leader-epoch-checkpoint; None where that is as it should be.
    epochs: list[tuple[int, int]] | None


class LogState:
    """See the module."""

    __slots__ = (
        "config",
        "deleted",
        "directory",
        "epochs",
        "epochs_lock",
        "flushed_at",
        "flushes",
        "high_watermark",
        "log_end_offset",
        "log_start_offset",
        "name",
        "partition",
        "path",
        "pinned_by",
        "producers",
        "recovery_point",
        "segments",
        "snapshots",
        "stable_point",
        "topic",
        "topic_id",
        "unsynced",
    )

    def __init__(
        self, directory: LogDirectory, topic: str, partition: int, *, topic_id: bytes, config: LogConfig
    ) -> None:
        self.directory = directory
        self.topic = topic
        self.partition = partition
        self.name = f"{topic}-{partition}"
        self.path = f"{directory.path}/{self.name}"
        #: 16 bytes.
        self.topic_id = topic_id
        self.config = config
        #: Oldest first, the active one last; a new list at every change, so that a read may go on with the old one.
        self.segments: list[Segment] = []
        self.log_start_offset = 0
        self.log_end_offset = 0
        #: Everything before it is committed; see ``commit_to``.
        self.high_watermark = 0
        #: Everything before it is on the disk.
        self.recovery_point = 0
        #: No transaction that begins before it can be open again after a power loss.
        self.stable_point = 0
        #: When it was last flushed, or opened, in monotonic seconds.
        self.flushed_at = directory.clock.monotonic()
        self.epochs = LeaderEpochs()
        #: Held while leader-epoch-checkpoint is written, which several threads may do.
        self.epochs_lock = threading.Lock()
        self.producers = Producers()
        #: Offsets of the .snapshot files, rising.
        self.snapshots: list[int] = []
        #: What the next flush syncs beside the active segment's batches: segments closed since, snapshots, new files;
        #: the directory itself while it is new.
        self.unsynced: list[str] = []
        #: Flushes at work.
        self.flushes: list[FlushWork] = []
        #: Its files are put aside: what still reads or syncs them in a thread may find them gone.
        self.deleted = False
        #: What is at work on closed segments, a compaction or a move; see ``pin``.
        self.pinned_by: object = None

    # -- what is known ------------------------------------------------------------------------------------------------

    @property
    def active(self) -> Segment:
        """The segment that is appended to."""
        return self.segments[-1]

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments' batches."""
        return sum(segment.size for segment in self.segments)

    @property
    def first_unstable_offset(self) -> int:
        """The first offset of an open transaction that is still there (DeleteRecords may have taken its beginning), else
        the log end offset.
        """
        first = self.producers.first_unstable_offset
        return self.log_end_offset if first is None else max(first, self.log_start_offset)

    @property
    def last_stable_offset(self) -> int:
        """The end of what readers of committed records may see: where the first transaction begins that is open, or whose
        marker is not committed yet; else the high watermark.
        """
        producers = self.producers
        if producers.first_unstable_offset is None and not producers.uncommitted_ends:
            return self.high_watermark
        stable = min(self.first_unstable_offset, self.high_watermark)
        if producers.uncommitted_ends:
            first = min(producers.uncommitted_ends.values())
            stable = min(stable, max(first, self.log_start_offset))
        return stable

    @property
    def needs_flush_before_ack(self) -> bool:
        """Whether flush.messages asks to flush now, before what was appended is acknowledged."""
        return self.log_end_offset - self.recovery_point >= self.config.flush_messages

    @property
    def unflushed(self) -> bool:
        """Whether anything since the last flush is not known to be on the disk."""
        return self.recovery_point < self.log_end_offset or bool(self.unsynced) or self.epochs.changed

    def segment_number(self, offset: int, segments: list[Segment] | None = None) -> int:
        """Index of the segment that holds ``offset`` (the first one for offsets before it), among ``segments`` if given."""
        segments = segments or self.segments
        if offset >= segments[-1].base_offset:
            return len(segments) - 1
        return max(bisect_right(segments, offset, key=_base_offset) - 1, 0)

    def batches(self, start_offset: int | None = None) -> Iterator[tuple[BatchHeader, Buffer]]:
        """Every batch from ``start_offset`` (the log start offset) to the end as it is now. Waits for the disk."""
        offset = self.log_start_offset if start_offset is None else start_offset
        segments = self.segments
        for segment in segments[self.segment_number(offset) :]:
            position = max(segment.find(offset, segment.size), 0) if offset > segment.base_offset else 0
            for _, header, data in segment.batches(position):
                if header.last_offset >= offset:
                    yield header, data

    # -- the end ------------------------------------------------------------------------------------------------------

    def extend_to(self, offset: int) -> None:
        """What lies before ``offset`` is in the log."""
        self.log_end_offset = offset

    def commit_to(self, offset: int) -> None:
        """Everything before ``offset`` is committed: move the high watermark there. It never goes back by this."""
        if offset > self.high_watermark:
            self.high_watermark = offset
            if self.producers.uncommitted_ends:
                self.producers.committed_to(offset)

    def end_at(self, offset: int) -> None:
        """What lay from ``offset`` on is gone, and whatever was said of it."""
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.high_watermark = min(self.high_watermark, offset)
        self.recovery_point = min(self.recovery_point, offset)
        self.stable_point = min(self.stable_point, offset)
        self.epochs.truncate_end(offset)

    # -- the start, and the files -------------------------------------------------------------------------------------

    def begin_with(
        self,
        segments: Sequence[Segment],
        snapshots: Iterable[int],
        epochs: LeaderEpochs,
        *,
        log_start_offset: int,
        recovery_point: int,
    ) -> None:
        """A log that is loaded consists of these, of which nothing is known but what file names and checkpoints say."""
        self.segments = [*segments]
        self.snapshots = sorted(snapshots)
        self.epochs = epochs
        self.log_start_offset = log_start_offset
        self.recovery_point = recovery_point

    def start_at(self, offset: int) -> None:
        """What lies before ``offset`` is gone for readers."""
        self.log_start_offset = offset
        self.epochs.truncate_start(offset)

    def replace_segments(self, old: Sequence[Segment], new: Sequence[Segment]) -> None:
        """``new`` take the place of ``old``, which lie side by side, or come last where there are none. The list is a new
        one, so that a read may go on with the old.
        """
        at = self.segments.index(old[0]) if old else len(self.segments)
        self.segments = [*self.segments[:at], *new, *self.segments[at + len(old) :]]

    def drop_oldest(self, count: int) -> list[Segment]:
        """The ``count`` oldest segments are no part of the log any more, which begins with the next one; those dropped."""
        dropped = self.segments[:count]
        self.replace_segments(dropped, [])
        first = self.segments[0].base_offset
        if first > self.log_start_offset:
            self.start_at(first)
        self.recovery_point = max(self.recovery_point, first)
        return dropped

    def add_snapshot(self, offset: int) -> None:
        """There is a .snapshot file at ``offset``, the last of all."""
        self.snapshots.append(offset)

    def forget_snapshots(self, offsets: Collection[int]) -> None:
        """The .snapshot files at these offsets are of no use any more."""
        self.snapshots = [offset for offset in self.snapshots if offset not in offsets]

    def pin(self, work: object) -> None:
        """Closed segments stay where they are until ``work``, a compaction or a move, ends or is called off."""
        self.pinned_by = work

    def unpin(self, work: object = None) -> None:
        """``work`` has ended; without it, whatever is at work is called off."""
        if work is None or self.pinned_by is work:
            self.pinned_by = None

    def moved(self, path: str) -> None:
        """The directory was put aside: what still reads it in a thread must not find one of its old name."""
        self.path = path
        for segment in self.segments:
            segment.moved(path)

    def mark_deleted(self) -> None:
        """Its files are about to be put aside."""
        self.deleted = True

    def update_config(self, config: LogConfig) -> None:
        """Follow changed settings from the next operation on."""
        self.config = config

    # -- flushes ------------------------------------------------------------------------------------------------------

    def must_sync(self, paths: Iterable[str]) -> None:
        """The next flush syncs these files too."""
        self.unsynced += paths

    def begin_flush_if_due(self, now: float) -> bool:
        """Whether a flush is to begin now, in monotonic seconds: flush.ms has passed, or a new segment has begun."""
        rolled = self.active.base_offset > self.recovery_point
        due = rolled or (self.unflushed and (now - self.flushed_at) * 1000 >= self.config.flush_ms)
        if due:
            self.flushed_at = now
        return due

    def begin_flush(self) -> FlushWork:
        """Hand out what must be synced so that all that is there now survives a power loss, for any thread. What is the
        work of older flushes, still under way, is part of it: when it has ended, nothing depends on theirs.

        Appends may go on meanwhile; the order makes them harmless, for they may be synced too.
        """
        with _flushing:
            stable_offset, end_offset, active = self.first_unstable_offset, self.log_end_offset, self.active.log
            taken, self.unsynced = self.unsynced, []
            paths = [path for work in self.flushes for path in work.paths] + taken
            changed, self.epochs.changed = self.epochs.changed, False
            changed = changed or any(work.epochs is not None for work in self.flushes)
            epochs = self.epochs.entries() if changed else None
            work = FlushWork(end_offset, stable_offset, active, paths, epochs)
            self.flushes = [*self.flushes, work]
        return work

    def give_back(self, work: FlushWork) -> None:
        """A flush failed: its work is that of the next one."""
        with _flushing:
            self.unsynced = work.paths + self.unsynced
            self.epochs.changed = self.epochs.changed or work.epochs is not None

    def end_flush(self, work: FlushWork) -> None:
        """A flush is over, however it went; see ``mark_flushed``."""
        with _flushing:
            self.flushes = [other for other in self.flushes if other is not work]

    def mark_flushed(self, end_offset: int, stable_offset: int) -> None:
        """What lies before ``end_offset`` is on the disk; no transaction that begins before ``stable_offset`` was open."""
        self.recovery_point = min(max(self.recovery_point, end_offset), self.log_end_offset)
        self.stable_point = min(max(self.stable_point, stable_offset), self.recovery_point)


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
