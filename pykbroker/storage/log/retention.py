"""Retention of segments by time and size (Kafka's cleanup.policy=delete)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pykbroker.storage.log.trimming import count_before, drop_segments, roll

if TYPE_CHECKING:
    from pykbroker.storage.log.segment import Segment
    from pykbroker.storage.log.state import LogState


def apply_retention(log: LogState, now_ms: int) -> int:
    """Drop the segments that exceed the log's retention; returns their number. Raises KafkaError KAFKA_STORAGE_ERROR.

    Whole segments only, from the oldest on: those before the log start offset, beyond retention.bytes, or older than
    retention.ms. If that includes the active one, an empty segment is rolled first. Uncommitted data stays. A log that is
    only compacted loses only segments before its log start offset. During a compaction nothing is dropped.
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
        raise log.directory.failed(error, f"applying retention to {log.name}") from error
    return dropped


def look_ahead(logs: Iterable[LogState], now_ms: int) -> None:
    """Read what ``apply_retention`` reads of these logs, in a thread, so that the loop does not wait for the disk. Errors
    are left to the round itself.
    """
    for log in logs:
        if log.config.delete:
            with contextlib.suppress(Exception):
                _over_size(log)
                _expired(log, now_ms)


def _over_size(log: LogState) -> int:
    """The number of oldest segments beyond retention.bytes. With retention.bytes=0 the active one counts too, unless it is
    empty.
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
    """The number of oldest segments older than retention.ms."""
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
    """Drop the ``count`` oldest segments, as far as they are committed."""
    if log.high_watermark < log.log_end_offset:
        count = min(count, count_before(log, log.high_watermark))
    if count and count == len(log.segments):
        roll(log, now_ms)
    return len(drop_segments(log, count))


def newest_record_ms(segment: Segment) -> int:
    """The largest timestamp of a segment; if its records have none, the time of the file's last write."""
    timestamp = segment.largest_timestamp()[0]
    return timestamp if timestamp >= 0 else segment.disk.modified_ms(segment.log.path)
