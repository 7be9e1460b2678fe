"""Which segments are past their time (Kafka's cleanup.policy=delete)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pykbroker.storage.log.trimming import count_before, drop_segments, roll

if TYPE_CHECKING:
    from pykbroker.storage.log.segment import Segment
    from pykbroker.storage.log.state import LogState


def apply_retention(log: LogState, now_ms: int) -> int:
    """Drop the segments that the log's settings no longer keep; how many. Raises KAFKA_STORAGE_ERROR.

    Always from the oldest on and whole segments only: those before the log start offset, those too many for
    retention.bytes, those older than retention.ms. When that is all of them, the active one included, an empty one
    takes its place first. Nothing goes that is not committed. A log that is only compacted loses nothing but what lies before its start. While compaction is
    at work, nothing is dropped.
    """
    log.directory.check()
    if log.pinned_by is not None:
        return 0
    try:
        dropped = len(drop_segments(log, count_before(log, log.log_start_offset)))
        if log.config.delete:
            dropped += _drop(log, _over_size(log), now_ms)
            dropped += _drop(log, _expired(log, now_ms), now_ms)
    except OSError as error:
        raise log.directory.failed(error, f"looking for old segments of {log.name}") from error
    return dropped


def look_ahead(logs: Iterable[LogState], now_ms: int) -> None:
    """Read what ``apply_retention`` reads of these logs. For a thread, so that the loop need not wait for the disk.
    Errors are left for the round itself to find.
    """
    for log in logs:
        if log.config.delete:
            with contextlib.suppress(Exception):
                _over_size(log)
                _expired(log, now_ms)


def _over_size(log: LogState) -> int:
    """How many of the oldest segments can go while retention.bytes remain; where that is none at all, the active one too,
    unless it is empty.
    """
    limit = log.config.retention_bytes
    excess = log.size_bytes - limit if limit >= 0 else 0
    count = 0
    for segment in log.segments:
        excess -= segment.size
        if segment.size == 0 or excess < 0:
            break
        count += 1
    return count


def _expired(log: LogState, now_ms: int) -> int:
    """How many of the oldest segments are older than retention.ms."""
    limit = log.config.retention_ms
    if limit < 0:
        return 0
    count = 0
    for segment in log.segments:
        if segment.size == 0 or now_ms - newest_record_ms(segment) <= limit:
            break
        count += 1
    return count


def _drop(log: LogState, count: int, now_ms: int) -> int:
    """Drop the ``count`` oldest segments, or those of them that are committed."""
    if log.high_watermark < log.log_end_offset:
        count = min(count, count_before(log, log.high_watermark))
    if count and count == len(log.segments):
        roll(log, now_ms)
    return len(drop_segments(log, count))


def newest_record_ms(segment: Segment) -> int:
    """The largest timestamp of a segment; where its records have none, when the file was last written."""
    timestamp = segment.largest_timestamp()[0]
    return timestamp if timestamp >= 0 else segment.disk.modified_ms(segment.log.path)
