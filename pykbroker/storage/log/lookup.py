"""Look-ups by timestamp in a log's indexes (``reading.ask_segments``). A log imports them with the first.

Records are passed over one by one, since a stranger's batch of some kilobytes may hold gigabytes or millions of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.storage.log.reading import ask_segments
from pykbroker.wire.batch_header import HEADER_SIZE, NO_TIMESTAMP, BatchHeader
from pykbroker.wire.compression import Compression, memory_to_decompress
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.record_walk import RecordTooLarge, RecordWalk

if TYPE_CHECKING:
    from pykbroker.storage.log.segment import Segment
    from pykbroker.storage.log.state import LogState


class TimestampOffset(NamedTuple):
    """A record found by its timestamp (milliseconds), and the leader epoch it was written in (-1: unknown)."""

    offset: int
    timestamp: int
    leader_epoch: int


#: Records between two calls of ``breathe``: some tenths of a millisecond.
_BREATHE_EVERY = 256


class NeedsMemory(Exception):
    """A search by timestamp has come to a batch that takes ``needed`` bytes of memory to read."""

    def __init__(self, needed: int) -> None:
        super().__init__()
        self.needed = needed


class Means(NamedTuple):
    """What a search by timestamp may use: bytes of memory, and ``breathe``, which it calls every few tenths of a millisecond to let
    other threads run.
    """

    memory: int = 2**63 - 1
    breathe: Callable[[], None] = lambda: None


ALL_MEANS = Means()


def offset_for_timestamp(
    log: LogState, timestamp: int, upper_offset: int | None, means: Means
) -> TimestampOffset | None:
    """Segments are searched in order: timestamps need not rise with offsets."""

    def search(segments: list[Segment]) -> TimestampOffset | None:
        for segment in segments:
            if segment.largest_timestamp()[0] >= timestamp:
                found = _first_at(log, segment, timestamp, means)
                if found is not None:
                    return found if upper_offset is None or found.offset < upper_offset else None
        return None

    return ask_segments(log, search, "searching by timestamp in")


def _first_at(log: LogState, segment: Segment, timestamp: int, means: Means) -> TimestampOffset | None:
    """The first record of ``segment`` with at least ``timestamp`` that is not before the log start offset."""
    start = log.log_start_offset
    position = segment.indexes.position_before(max(segment.indexes.offset_before(timestamp), start))
    for _, header, data in segment.batches(position):
        if header.max_timestamp >= timestamp and header.last_offset >= start:
            for found in _records(log, header, data, means):
                if found.timestamp >= timestamp and found.offset >= start:
                    return found
    return None


def _records(log: LogState, header: BatchHeader, data: Buffer, means: Means) -> Iterator[TimestampOffset]:
    """The records of a batch. Raises WireError, NeedsMemory, or KafkaError INVALID_RECORD for a record that is larger than
    max.decompressed.message.bytes, as Kafka 4.4 does.
    """
    codec = header.compression
    needed = len(data)
    needed += len(data) if codec is Compression.NONE else memory_to_decompress(codec, data[HEADER_SIZE:])
    if needed > means.memory:
        raise NeedsMemory(needed)
    walk = RecordWalk(data, header, max_record_bytes=log.config.max_decompressed_message_bytes)
    try:
        for number, record in enumerate(walk.records()):
            if not number % _BREATHE_EVERY:
                means.breathe()
            yield TimestampOffset(
                header.base_offset + record.offset_delta, record.timestamp, header.partition_leader_epoch
            )
    except RecordTooLarge as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, str(error)) from None


def offset_of_max_timestamp(log: LogState, means: Means) -> TimestampOffset | None:
    """The first record with the largest timestamp of all."""

    def search(segments: list[Segment]) -> TimestampOffset | None:
        found = _max_of(log, segments, means)
        if found is not None and found.offset < log.log_start_offset:
            # The log start offset is inside the first segment: its remaining batches are searched one by one.
            rest = (_max_of_cut(log, segments[0], log.log_start_offset, means), _max_of(log, segments[1:], means))
            found = max(filter(None, rest), key=lambda one: one.timestamp, default=None)
        return found

    return ask_segments(log, search, "searching by timestamp in")


def _max_of(log: LogState, segments: list[Segment], means: Means) -> TimestampOffset | None:
    """The first record with the largest timestamp, found by the segments' largest timestamps."""
    best = max(segments, key=lambda segment: segment.largest_timestamp()[0], default=None)
    if best is None:
        return None
    largest, batch_end = best.largest_timestamp()
    if largest == NO_TIMESTAMP:
        return None
    for _, header, data in best.batches(max(best.find(batch_end, best.size), 0)):
        if header.max_timestamp == largest:
            return next((found for found in _records(log, header, data, means) if found.timestamp >= largest), None)
    return None


def _max_of_cut(log: LogState, segment: Segment, start: int, means: Means) -> TimestampOffset | None:
    """The first record with the largest timestamp from offset ``start`` on."""
    best: TimestampOffset | None = None
    for _, header, data in segment.batches():
        if header.last_offset >= start and (best is None or header.max_timestamp > best.timestamp):
            for found in _records(log, header, data, means):
                if found.offset >= start and found.timestamp > (best.timestamp if best else NO_TIMESTAMP):
                    best = found
    return best
