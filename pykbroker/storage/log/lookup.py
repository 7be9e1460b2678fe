"""Look-ups in a log's indexes: by timestamp, and aborted transactions.

They run in any thread, over the segments at the time of the call. If retention or compaction removes segments meanwhile, the
look-up is repeated on the new ones. A file that is missing for another reason fails this look-up alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from pykbroker.storage.index.aborted import AbortedTxn
from pykbroker.storage.index.index import Reader, WouldBlockError, read_blocking, read_cached
from pykbroker.wire.batch_header import NO_TIMESTAMP, BatchHeader
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import decode_records

if TYPE_CHECKING:
    from pykbroker.storage.log.segment import Segment
    from pykbroker.storage.log.state import LogState

T = TypeVar("T")


class TimestampOffset(NamedTuple):
    """A record found by its timestamp (milliseconds), and the leader epoch it was written in (-1: unknown)."""

    offset: int
    timestamp: int
    leader_epoch: int


def _ask(log: LogState, question: Callable[[list[Segment]], T], doing: str) -> T:
    """``question`` on the log's segments. Raises KafkaError KAFKA_STORAGE_ERROR, or UNKNOWN_TOPIC_OR_PARTITION if the topic
    was deleted meanwhile.
    """
    while True:
        log.directory.check()
        segments = log.segments
        try:
            return question(segments)
        except OSError as error:
            if log.deleted:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{log.name} was deleted meanwhile.") from error
            if not isinstance(error, FileNotFoundError) or log.segments is segments:
                raise log.directory.unread(error, f"{doing} {log.name}") from error


def aborted_transactions(
    log: LogState, start_offset: int, upper_offset: int, read: Reader = read_blocking
) -> list[AbortedTxn]:
    """Markers come after the data, so later segments are searched too, until one says that none can have more."""

    def collect(segments: list[Segment]) -> list[AbortedTxn]:
        found: list[AbortedTxn] = []
        for number in range(log.segment_number(start_offset, segments), len(segments)):
            segment = segments[number]
            if segment.may_have_aborted:
                if read is read_cached and not segment.aborted_loaded:
                    raise WouldBlockError
                txns, complete = segment.aborted.collect(start_offset, upper_offset, read)
                found += txns
                if complete:
                    break
        return found

    return _ask(log, collect, "reading the transaction index of")


def offset_for_timestamp(log: LogState, timestamp: int, upper_offset: int | None) -> TimestampOffset | None:
    """Segments are searched in order: timestamps need not rise with offsets."""

    def search(segments: list[Segment]) -> TimestampOffset | None:
        for segment in segments:
            if segment.largest_timestamp()[0] >= timestamp:
                found = _first_at(log, segment, timestamp)
                if found is not None:
                    return found if upper_offset is None or found.offset < upper_offset else None
        return None

    return _ask(log, search, "searching by timestamp in")


def _first_at(log: LogState, segment: Segment, timestamp: int) -> TimestampOffset | None:
    """The first record of ``segment`` with at least ``timestamp`` that is not before the log start offset."""
    start = log.log_start_offset
    position = segment.indexes.position_before(max(segment.indexes.offset_before(timestamp), start))
    for _, header, data in segment.batches(position):
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


def offset_of_max_timestamp(log: LogState) -> TimestampOffset | None:
    """The first record with the largest timestamp of all."""

    def search(segments: list[Segment]) -> TimestampOffset | None:
        found = _max_of(segments)
        if found is not None and found.offset < log.log_start_offset:
            # The log start offset is inside the first segment: its remaining batches are searched one by one.
            rest = (_max_of_cut(segments[0], log.log_start_offset), _max_of(segments[1:]))
            found = max(filter(None, rest), key=lambda one: one.timestamp, default=None)
        return found

    return _ask(log, search, "searching by timestamp in")


def _max_of(segments: list[Segment]) -> TimestampOffset | None:
    """The first record with the largest timestamp, found by the segments' largest timestamps."""
    best = max(segments, key=lambda segment: segment.largest_timestamp()[0], default=None)
    if best is None:
        return None
    largest, batch_end = best.largest_timestamp()
    if largest == NO_TIMESTAMP:
        return None
    for _, header, data in best.batches(max(best.find(batch_end, best.size), 0)):
        if header.max_timestamp == largest:
            return _first_record(header, data, largest, 0)
    return None


def _max_of_cut(segment: Segment, start: int) -> TimestampOffset | None:
    """The first record with the largest timestamp from offset ``start`` on."""
    best: TimestampOffset | None = None
    for _, header, data in segment.batches():
        if header.last_offset >= start and (best is None or header.max_timestamp > best.timestamp):
            for record in decode_records(data, header=header):
                if record.offset >= start and record.timestamp > (best.timestamp if best else NO_TIMESTAMP):
                    best = TimestampOffset(record.offset, record.timestamp, header.partition_leader_epoch)
    return best
