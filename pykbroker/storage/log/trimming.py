"""Operations that change which segments a log consists of: rolling, dropping old ones, truncating, closing."""

from __future__ import annotations

from pykbroker.storage.directory import DELETED
from pykbroker.storage.log.flushing import flush
from pykbroker.storage.log.segment import Segment
from pykbroker.storage.log.snapshots import drop_snapshots, restore_producers, write_snapshot
from pykbroker.storage.log.state import LogState
from pykbroker.wire.errors import ErrorCode, KafkaError


def roll(log: LogState, now_ms: int) -> Segment:
    """Begin a new segment at the log end offset, unless the active one is empty."""
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


def make_segment(log: LogState, base_offset: int, now_ms: int) -> Segment:
    """Create the files of a new segment, the .log in its full size with the topic's ``preallocate``."""
    room = log.config.segment_bytes if log.config.preallocate else 0
    return Segment.create(log.directory.disk, log.path, base_offset, now_ms, file_bytes=room)


def _set_jitter(log: LogState, segment: Segment) -> None:
    most = min(log.config.segment_jitter_ms, log.config.roll_ms)
    segment.jitter_ms = log.directory.random.randrange(most) if most > 0 else 0


def delete_records_before(log: LogState, offset: int) -> int:
    """Raise the log start offset, then drop the segments wholly before it. Raises KafkaError OFFSET_OUT_OF_RANGE beyond the
    high watermark.
    """
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


def count_before(log: LogState, offset: int) -> int:
    """The number of segments that end at or before ``offset``; never the active one."""
    count = 0
    for following in log.segments[1:]:
        if following.base_offset > offset:
            break
        count += 1
    return count


def drop_segments(log: LogState, count: int) -> list[Segment]:
    """Remove the ``count`` oldest segments from the log and rename their files, which are removed later.

    During a compaction nothing is dropped; the next round of retention does it.
    """
    if count == 0 or log.pinned_by is not None:
        return []
    dropped = log.drop_oldest(count)
    for segment in dropped:
        discard(log, segment)
    first = log.segments[0].base_offset
    drop_snapshots(log, [offset for offset in log.snapshots if offset < first])
    return dropped


def discard(log: LogState, segment: Segment) -> None:
    """Rename the files of a segment that was removed from the log, and schedule their removal."""
    try:
        segment.rename(DELETED)
    except OSError as error:
        raise log.directory.failed(error, f"removing a segment of {log.name}") from error
    log.directory.remove_later(segment.stem, log.config.file_delete_delay_ms)
    segment.close()


def truncate_to(log: LogState, offset: int) -> None:
    """Drop the end of the log, then restore epochs and producer states at ``offset``. A compaction of it must have ended.

    Each step is synced, the newest segment first: a crash leaves a log without a gap, and no dropped batch can come back
    after batches that are appended from now on.
    """
    log.directory.check()
    if offset >= log.log_end_offset:
        # A leader that appended nothing has noted its epoch at the end: no other replica has it.
        log.epochs.truncate_end(log.log_end_offset)
        return
    try:
        if offset < log.segments[0].base_offset:
            _drop_all(log, offset)
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


def start_over(log: LogState, offset: int, log_start_offset: int | None = None) -> None:
    """Drop everything; the log is empty, ends at ``offset``, and begins there or at ``log_start_offset``. Everything before its
    beginning counts as committed: it was, where it was deleted.
    """
    log.directory.check()
    try:
        _drop_all(log, offset)
        log.epochs.clear()
        log.end_at(offset)
        log.start_at(offset if log_start_offset is None else log_start_offset)
        log.commit_to(offset)
        drop_snapshots(log, [*log.snapshots])
        log.producers.clear(offset)
    except OSError as error:
        raise log.directory.failed(error, f"truncating {log.name}") from error


def _drop_all(log: LogState, offset: int) -> None:
    """Remove all segments and begin a new one at ``offset``."""
    dropped = log.segments
    log.replace_segments(dropped, [])
    for segment in reversed(dropped):
        discard(log, segment)
    log.directory.disk.sync_directory(log.path)
    log.replace_segments([], [make_segment(log, offset, log.directory.clock.now_ms())])
    log.must_sync([log.active.log.path])


def close(log: LogState) -> None:
    """Write and sync what the start after a clean shutdown trusts: complete indexes, and a snapshot at the end."""
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
    flush(log)
    for segment in log.segments:
        segment.close()
