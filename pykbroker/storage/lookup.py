"""Questions to a log that are answered from its indexes: by timestamp, and which transactions were aborted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pykbroker.storage.aborted import AbortedTxn
from wire.batch_header import NO_TIMESTAMP, BatchHeader, TimestampType
from wire.primitives import Buffer
from wire.records import decode_records

if TYPE_CHECKING:
    from pykbroker.storage.log import Log
    from pykbroker.storage.segment import Segment


class TimestampOffset(NamedTuple):
    """A record found by its timestamp (milliseconds), and the leader epoch it was written in (-1: unknown)."""

    offset: int
    timestamp: int
    leader_epoch: int


def aborted_transactions(log: Log, start_offset: int, upper_offset: int) -> list[AbortedTxn]:
    """Markers lie after the data, so later segments are asked too, until one says that nothing before is undecided."""
    found: list[AbortedTxn] = []
    try:
        for segment in log.segments[log.segment_number(start_offset) :]:
            txns, complete = segment.aborted.collect(start_offset, upper_offset)
            found += txns
            if complete:
                break
    except OSError as error:
        raise log.home.failed(error, f"reading the transaction index of {log.name}") from error
    return found


def offset_for_timestamp(log: Log, timestamp: int, upper_offset: int | None) -> TimestampOffset | None:
    """Segments are asked in order: timestamps need not rise with offsets."""
    log.home.check()
    try:
        for segment in log.segments:
            if segment.largest_timestamp()[0] >= timestamp:
                found = _first_at(log, segment, timestamp)
                if found is not None:
                    return found if upper_offset is None or found.offset < upper_offset else None
    except OSError as error:
        raise log.home.failed(error, f"searching {log.name} by timestamp") from error
    return None


def _first_at(log: Log, segment: Segment, timestamp: int) -> TimestampOffset | None:
    """The first record of ``segment`` with at least ``timestamp`` that is not before the log start offset."""
    start = log.log_start_offset
    entry = segment.time_index.floor(0, timestamp)
    relative = max(entry[1] if entry else 0, start - segment.base_offset, 0)
    place = segment.offset_index.floor(0, relative)
    for _, header, data in segment.batches(place[1] if place else 0):
        if header.max_timestamp >= timestamp and header.last_offset >= start:
            found = _first_record(header, data, timestamp, start)
            if found is not None:
                return found
    return None


def _first_record(header: BatchHeader, data: Buffer, timestamp: int, start: int) -> TimestampOffset | None:
    for record in decode_records(data, header=header):
        if record.timestamp >= timestamp and record.offset >= start:
            return TimestampOffset(record.offset, record.timestamp, header.partition_leader_epoch)
    return None


def offset_of_max_timestamp(log: Log) -> TimestampOffset | None:
    """The first of the segments that have the largest timestamp, its first batch that has it, its first record."""
    log.home.check()
    try:
        best = max(log.segments, key=lambda segment: segment.largest_timestamp()[0])
        largest, batch_end = best.largest_timestamp()
        if largest == NO_TIMESTAMP:
            return None
        position = best.find(batch_end, best.size)
        for _, header, data in best.batches(max(position, 0)):
            if header.max_timestamp == largest:
                if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
                    return TimestampOffset(header.last_offset, largest, header.partition_leader_epoch)
                return _first_record(header, data, largest, 0)
    except OSError as error:
        raise log.home.failed(error, f"searching {log.name} by timestamp") from error
    return None
