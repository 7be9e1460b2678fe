"""Operations that change which segments a log consists of: rolling, dropping old ones, truncating, closing."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

from pykbroker.storage.directory import DELETED
from pykbroker.storage.log.producers import CorruptSnapshotError
from pykbroker.storage.log.segment import Segment, segment_name
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.storage.log.log import Log

logger = logging.getLogger(__name__)


def roll(log: Log, now_ms: int) -> Segment:
    """Begin a new segment at the log end offset; nothing happens while the active one is empty."""
    active = log.active
    if active.base_offset == log.log_end_offset:
        return active
    try:
        active.finish()
        write_snapshot(log)
        active.trim()
        segment = make_segment(log, log.log_end_offset, now_ms)
    except OSError as error:
        raise log.directory.refused(error, f"rolling {log.name}") from error
    _set_jitter(log, segment)
    active.retire()
    log.must_sync(active.paths())
    log.replace_segments([], [segment])
    log.must_sync([segment.log.path])
    return segment


def make_segment(log: Log, base_offset: int, now_ms: int) -> Segment:
    """The files of a new segment, the .log as long as it may become where the topic's ``preallocate`` asks for it."""
    room = log.config.segment_bytes if log.config.preallocate else 0
    return Segment.create(log.directory.disk, log.path, base_offset, now_ms, file_bytes=room)


def _set_jitter(log: Log, segment: Segment) -> None:
    most = min(log.config.segment_jitter_ms, log.config.roll_ms)
    segment.jitter_ms = log.directory.random.randrange(most) if most > 0 else 0


def write_snapshot(log: Log) -> None:
    """Write the producers' state at the log end offset, unless that is there. Raises OSError."""
    offset = log.log_end_offset
    if log.snapshots and log.snapshots[-1] == offset:
        return
    path = snapshot_path(log, offset)
    log.directory.disk.write(path, log.producers.encode(), sync=False)
    log.snapshots.append(offset)
    log.must_sync([path])


def snapshot_path(log: Log, offset: int) -> str:
    """Name of the .snapshot file of the producers' state at ``offset``."""
    return f"{log.path}/{segment_name(offset)}.snapshot"


def delete_records_before(log: Log, offset: int) -> int:
    """Move the log start offset, then drop the segments that lie wholly before it."""
    log.directory.check()
    if offset > log.high_watermark:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"Cannot increment the log start offset of {log.name} to {offset}, since it is larger than the high watermark "
            f"{log.high_watermark}.",
        )
    if offset > log.log_start_offset:
        log.start_at(offset)
        drop_segments(log, count_before(log, offset))
    return log.log_start_offset


def count_before(log: Log, offset: int) -> int:
    """How many segments end at or before ``offset``; never the active one."""
    count = 0
    for following in log.segments[1:]:
        if following.base_offset > offset:
            break
        count += 1
    return count


def drop_segments(log: Log, count: int) -> list[Segment]:
    """Take the ``count`` oldest segments out of the log and rename their files; they are removed later.

    None of them while compaction is at work; the next round of retention drops them then.
    """
    dropped = log.segments[:count] if log.pinned_by is None else []
    if not dropped:
        return dropped
    log.replace_segments(dropped, [])
    first = log.segments[0].base_offset
    if first > log.log_start_offset:
        log.start_at(first)
    log.recovery_point = max(log.recovery_point, first)
    for segment in dropped:
        discard(log, segment)
    drop_snapshots(log, [offset for offset in log.snapshots if offset < first])
    return dropped


def discard(log: Log, segment: Segment) -> None:
    """Rename the files of a segment that is no longer part of the log and have them removed after a while."""
    try:
        segment.rename(DELETED)
    except OSError as error:
        raise log.directory.failed(error, f"removing a segment of {log.name}") from error
    log.directory.remove_later(segment.stem, log.config.file_delete_delay_ms)
    segment.close()


def drop_snapshots(log: Log, unwanted: Collection[int]) -> None:
    """Remove the producer snapshots at these offsets. Raises KAFKA_STORAGE_ERROR."""
    log.snapshots = [offset for offset in log.snapshots if offset not in unwanted]
    try:
        for offset in unwanted:
            log.directory.disk.remove(snapshot_path(log, offset))
    except OSError as error:
        raise log.directory.failed(error, f"removing a producer snapshot of {log.name}") from error


def truncate_to(log: Log, offset: int) -> None:
    """Drop the end of the log, then bring epochs and producers back to what they were at ``offset``.

    On the disk at once, the newest first: whatever ends it in between leaves a log without a gap, and nothing that was
    dropped can come back behind what is appended from now on.
    """
    log.directory.check()
    if offset >= log.log_end_offset:
        return
    log.unpin()
    try:
        if offset < log.segments[0].base_offset:
            _start_over(log, offset)
        else:
            dropped = [segment for segment in log.segments if segment.base_offset > offset]
            log.replace_segments(dropped, [])
            for segment in reversed(dropped):
                discard(log, segment)
            if dropped:
                log.directory.disk.sync_directory(log.path)
            log.active.truncate(offset)
            log.active.log.sync()
        log.end_at(offset)
        drop_snapshots(log, [snapshot for snapshot in log.snapshots if snapshot > offset])
        restore_producers(log)
    except OSError as error:
        raise log.directory.failed(error, f"truncating {log.name}") from error


def _start_over(log: Log, offset: int) -> None:
    """Drop everything; the log is empty and begins at ``offset``."""
    dropped = log.segments
    log.replace_segments(dropped, [])
    for segment in reversed(dropped):
        discard(log, segment)
    log.directory.disk.sync_directory(log.path)
    log.replace_segments([], [make_segment(log, offset, log.directory.clock.now_ms())])
    log.must_sync([log.active.log.path])


def restore_producers(log: Log) -> None:
    """Producers' state at the log end offset: from the newest sound snapshot, then from the batches behind it."""
    uncommitted = log.producers.uncommitted_ends.copy()  # of which a snapshot says nothing
    log.producers.clear(log.log_start_offset)
    load_snapshot(log, log.log_end_offset)
    if log.producers.end_offset < log.log_end_offset:
        for header, data in log.batches(log.producers.end_offset):
            log.replay_batch(header, data, None)
    log.producers.end_offset = log.log_end_offset
    left = {marker: first for marker, first in uncommitted.items() if marker < log.log_end_offset}
    log.producers.uncommitted_ends.update(left)
    log.producers.committed_to(log.high_watermark)


def load_snapshot(log: Log, limit: int) -> None:
    """Take over the newest snapshot not above ``limit``; damaged ones are removed."""
    while usable := [offset for offset in log.snapshots if log.log_start_offset < offset <= limit]:
        path = snapshot_path(log, usable[-1])
        try:
            log.producers.decode(log.directory.disk.read(path), usable[-1])
            return
        except CorruptSnapshotError as error:
            logger.warning("Producer snapshot %s is damaged (%s) and removed", path, error)
            log.directory.disk.remove(path)
            log.snapshots.remove(usable[-1])


def close(log: Log) -> None:
    """Leave what a clean start trusts: complete indexes, a snapshot at the end, all of it on the disk."""
    if log.directory.offline:
        return
    active = log.active
    try:
        if log.log_end_offset > max(log.snapshots[-1:], default=log.log_start_offset):
            write_snapshot(log)
        trimmed = active.trim()
        if active.finish() or trimmed or log.log_end_offset > log.recovery_point:
            log.must_sync(active.paths())
    except OSError as error:
        raise log.directory.refused(error, f"closing {log.name}") from error
    log.flush()
    for segment in log.segments:
        segment.close()
