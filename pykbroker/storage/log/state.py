"""The state of one log, and its transitions.

``Log`` extends it with appends and reads. The operations in other modules (``recovery``, ``trimming``, ``flushing``,
``retention``, compaction, moves) change it by these transitions alone; a test checks that no other module assigns an
attribute of a log.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pykbroker.storage.directory import LogDirectory
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.epochs import LeaderEpochs
from pykbroker.storage.log.producers import Producers
from pykbroker.storage.log.segment import Segment
from pykbroker.wire.batch_header import BatchHeader
from pykbroker.wire.primitives import Buffer

if TYPE_CHECKING:
    from pykbroker.storage.disk import File

#: Flushes may begin and end in several threads at once. Never held while waiting for the disk.
_flushing = threading.Lock()


@dataclass(slots=True, eq=False)
class FlushWork:
    """The work of one flush, and the offsets that are synced after it."""

    end_offset: int
    stable_offset: int
    #: The .log of the segment that was active when it began.
    active: File
    #: Other files, and the log's directory itself while it is new.
    paths: list[str]
    #: The entries to write to leader-epoch-checkpoint; None if it is up to date.
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
        #: The topic id, 16 bytes.
        self.topic_id = topic_id
        self.config = config
        #: Oldest first, the active one last; a new list at every change, so that a read may continue with the old one.
        self.segments: list[Segment] = []
        self.log_start_offset = 0
        self.log_end_offset = 0
        #: Everything before it is committed; see ``commit_to``.
        self.high_watermark = 0
        #: Everything before it is synced.
        self.recovery_point = 0
        #: The end of what stays decided after a power loss: no transaction that begins before it can be open again.
        self.stable_point = 0
        #: The time of the last flush, or of the opening, in monotonic seconds.
        self.flushed_at = directory.clock.monotonic()
        self.epochs = LeaderEpochs()
        #: Held while leader-epoch-checkpoint is written, which several threads may do.
        self.epochs_lock = threading.Lock()
        self.producers = Producers()
        #: Offsets of the .snapshot files, rising.
        self.snapshots: list[int] = []
        #: Files that the next flush syncs besides the active segment's .log: closed segments, snapshots, new files;
        #: the directory itself while it is new.
        self.unsynced: list[str] = []
        #: Flushes under way.
        self.flushes: list[FlushWork] = []
        #: The log was deleted: threads that still read or sync its files may find them gone.
        self.deleted = False
        #: The compaction or move that works on closed segments; see ``pin``.
        self.pinned_by: object = None

    # -- state --------------------------------------------------------------------------------------------------------

    @property
    def active(self) -> Segment:
        """The active segment."""
        return self.segments[-1]

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments' batches."""
        return sum(segment.size for segment in self.segments)

    @property
    def first_unstable_offset(self) -> int:
        """The first offset of an open transaction, not before the log start offset; without one the log end
        offset.
        """
        first = self.producers.first_unstable_offset
        return self.log_end_offset if first is None else max(first, self.log_start_offset)

    @property
    def last_stable_offset(self) -> int:
        """The offset at which readers with read_committed stop: the first offset of a transaction that is open or has an
        uncommitted marker, else the high watermark.
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
        """Whether flush.messages requires a flush before appended batches are acknowledged."""
        return self.log_end_offset - self.recovery_point >= self.config.flush_messages

    @property
    def synced_offset(self) -> int:
        """The offset before which the log is as durable as flush.messages asks."""
        end = self.log_end_offset
        return end if end - self.recovery_point < self.config.flush_messages else self.recovery_point

    @property
    def unflushed(self) -> bool:
        """Whether anything may be unsynced."""
        return self.recovery_point < self.log_end_offset or bool(self.unsynced) or self.epochs.changed

    def segment_number(self, offset: int, segments: list[Segment] | None = None) -> int:
        """The index of the segment that contains ``offset`` (the first one for earlier offsets), in ``segments`` if given."""
        segments = segments or self.segments
        if offset >= segments[-1].base_offset:
            return len(segments) - 1
        return max(bisect_right(segments, offset, key=_base_offset) - 1, 0)

    def batches(self, start_offset: int | None = None) -> Iterator[tuple[BatchHeader, Buffer]]:
        """Every batch from ``start_offset`` (by default the log start offset) to the present end. Waits for the disk."""
        offset = self.log_start_offset if start_offset is None else start_offset
        segments = self.segments
        for segment in segments[self.segment_number(offset) :]:
            position = max(segment.find(offset, segment.size), 0) if offset > segment.base_offset else 0
            for _, header, data in segment.batches(position):
                if header.last_offset >= offset:
                    yield header, data

    # -- the end ------------------------------------------------------------------------------------------------------

    def extend_to(self, offset: int) -> None:
        """Set the log end offset after an append."""
        self.log_end_offset = offset

    def commit_to(self, offset: int) -> None:
        """Raise the high watermark to ``offset``; it never goes back."""
        if offset > self.high_watermark:
            self.high_watermark = offset
            if self.producers.uncommitted_ends:
                self.producers.committed_to(offset)

    def end_at(self, offset: int) -> None:
        """Set the log end offset after a truncation, and bound all other offsets by it."""
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
        """Set the files of a log that is being loaded."""
        self.segments = [*segments]
        self.snapshots = sorted(snapshots)
        self.epochs = epochs
        self.log_start_offset = log_start_offset
        self.recovery_point = recovery_point

    def start_at(self, offset: int) -> None:
        """Set the log start offset."""
        self.log_start_offset = offset
        self.epochs.truncate_start(offset)

    def replace_segments(self, old: Sequence[Segment], new: Sequence[Segment]) -> None:
        """Replace the adjacent segments ``old`` by ``new``, or add ``new`` at the end if ``old`` is empty. The list is a new
        one, so that a read may continue with the old.
        """
        at = self.segments.index(old[0]) if old else len(self.segments)
        self.segments = [*self.segments[:at], *new, *self.segments[at + len(old) :]]

    def drop_oldest(self, count: int) -> list[Segment]:
        """Remove the ``count`` oldest segments from the log; returns them."""
        dropped = self.segments[:count]
        self.replace_segments(dropped, [])
        first = self.segments[0].base_offset
        if first > self.log_start_offset:
            self.start_at(first)
        self.recovery_point = max(self.recovery_point, first)
        return dropped

    def add_snapshot(self, offset: int) -> None:
        """Add a .snapshot file at ``offset``, the last of all."""
        self.snapshots.append(offset)

    def forget_snapshots(self, offsets: Collection[int]) -> None:
        """Remove the .snapshot files at these offsets."""
        self.snapshots = [offset for offset in self.snapshots if offset not in offsets]

    def pin(self, work: object) -> None:
        """Keep closed segments in place until ``work``, a compaction or a move, ends or is cancelled."""
        self.pinned_by = work

    def unpin(self, work: object = None) -> None:
        """End ``work``; without it, cancel the work under way."""
        if work is None or self.pinned_by is work:
            self.pinned_by = None

    def moved(self, path: str) -> None:
        """The directory was renamed: threads that still read it must not open a new one of its old name."""
        self.path = path
        for segment in self.segments:
            segment.moved(path)

    def mark_deleted(self) -> None:
        """The log is deleted; its files are about to be renamed."""
        self.deleted = True

    def update_config(self, config: LogConfig) -> None:
        """Apply changed settings from the next operation on."""
        self.config = config

    # -- flushes ------------------------------------------------------------------------------------------------------

    def must_sync(self, paths: Iterable[str]) -> None:
        """Add files to the next flush."""
        self.unsynced += paths

    def begin_flush_if_due(self, now: float) -> bool:
        """Whether a flush is due at ``now`` (monotonic seconds): flush.ms has passed, or a new segment has begun."""
        rolled = self.active.base_offset > self.recovery_point
        due = rolled or (self.unflushed and (now - self.flushed_at) * 1000 >= self.config.flush_ms)
        if due:
            self.flushed_at = now
        return due

    def begin_flush(self) -> FlushWork:
        """The work after which all present data survives a power loss; in any thread. It includes the work of older flushes
        that are under way, so it does not depend on them.

        Appends may come meanwhile; the order below makes that harmless, since they may be synced too.
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
        """A flush failed: return its work to the next one."""
        with _flushing:
            self.unsynced = work.paths + self.unsynced
            self.epochs.changed = self.epochs.changed or work.epochs is not None

    def end_flush(self, work: FlushWork) -> None:
        """A flush has ended, or failed; see ``mark_flushed``."""
        with _flushing:
            self.flushes = [other for other in self.flushes if other is not work]

    def mark_flushed(self, end_offset: int, stable_offset: int) -> None:
        """Everything before ``end_offset`` is synced; no transaction that begins before ``stable_offset`` was open."""
        self.recovery_point = min(max(self.recovery_point, end_offset), self.log_end_offset)
        self.stable_point = min(max(self.stable_point, stable_offset), self.recovery_point)


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
