"""Reads of whole batches, planned by the loop, and run in a thread if they would stall it.

A plan fixes the visible content: the present segments and sizes. ``read_now`` reads from the page cache; ``read`` waits for
the disk, in a worker thread.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, TypeVar

from pykbroker.storage.index.aborted import AbortedTxn
from pykbroker.storage.index.index import Reader, WouldBlockError, read_blocking, read_cached
from pykbroker.storage.log import batches
from pykbroker.storage.log.batches import PLACE
from pykbroker.storage.log.segment import Segment
from pykbroker.storage.log.stored import StoredRecords
from pykbroker.wire.batch_header import HEADER_SIZE, LOG_OVERHEAD
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.primitives import Buffer

if TYPE_CHECKING:
    from pykbroker.storage.log.state import LogState

T = TypeVar("T")

_BASE = Struct(">q")
_BASE_AND_LENGTH = Struct(">qi")
_length_at = Struct(">8xi").unpack_from

#: From this many bytes on, the offset index is used to find the last whole batch, instead of walking over all.
MOST_WALKED = 128 * 1024
_ALL = 1 << 62


class ReadPlan:
    """One read: whole batches from the one that contains ``offset``, up to ``upper_offset``, at most ``max_bytes``.

    With ``at_least_one`` the first batch is read even if it is larger than ``max_bytes``.
    """

    __slots__ = (
        "_after",
        "_at_least_one",
        "_data",
        "_end",
        "_inline",
        "_log",
        "_max_bytes",
        "_number",
        "_offset",
        "_position",
        "_segments",
        "_shut_out",
        "_to_end",
        "_upper",
    )

    def __init__(
        self, log: LogState, number: int, offset: int, max_bytes: int, upper_offset: int, *, at_least_one: bool
    ) -> None:
        self._log = log
        self._segments = log.segments
        self._number = number
        self._offset = offset
        self._max_bytes = max_bytes
        self._upper = upper_offset
        self._to_end = upper_offset == log.log_end_offset
        self._at_least_one = at_least_one
        segment = self._segments[number]
        self._position = segment.known_position(offset)
        #: -1 if the segment's size must be read from the disk.
        self._end = segment.size if segment.size_known else -1
        self._data: Buffer | StoredRecords | None = None
        self._after = -1  # the offset after what was read
        self._inline = _ALL  # more bytes than these are left in their file
        self._shut_out = False  # the first batch is larger than the limit

    @property
    def size(self) -> int:
        """The bytes that the read will return: exact at the tail of the log, else an upper bound."""
        if self._end < 0:
            return self._max_bytes
        return min(self._end - max(self._position, 0), self._max_bytes)

    @property
    def end_offset(self) -> int:
        """The offset after the last batch that was read, or after those that compaction removed behind it; before the read, the upper
        offset.
        """
        if self._data is None:
            return self._upper
        return self._after if self._data else self._offset

    @property
    def limited(self) -> bool:
        """After the read: whether the limit cut off batches of the segment."""
        return self._shut_out or (bool(self._data) and self.end_offset < self._upper)

    @property
    def ends_in_older_segment(self) -> bool:
        """After the read: whether it returned batches, and more are in a later segment."""
        following = self._number + 1
        return (
            bool(self._data) and following < len(self._segments) and self._segments[following].base_offset < self._upper
        )

    def read_now(self, inline: int = _ALL) -> Buffer | StoredRecords | None:
        """The batches if they are in memory, else None. Raises KafkaError KAFKA_STORAGE_ERROR.

        Bytes beyond ``inline`` stay in their file.
        """
        self._inline = inline
        segment = self._segments[self._number]
        position = self._position
        if self._to_end and 0 <= position < self._end and self._end - position <= min(self._max_bytes, inline):
            try:
                self._data = segment.log.pread_cached(self._end - position, position)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise self._failed(error) from error
            self._after = self._segment_end(self._number)
            return self._data
        try:
            self._data = self._read(read_cached)
        except WouldBlockError:
            return None
        return self._data

    def read(self, inline: int = _ALL) -> Buffer | StoredRecords:
        """The batches; waits for the disk. Empty if nothing is below the upper offset.

        Raises KafkaError KAFKA_STORAGE_ERROR, OFFSET_OUT_OF_RANGE if retention removed the segment meanwhile, or
        UNKNOWN_TOPIC_OR_PARTITION if the topic was deleted. Bytes beyond ``inline`` stay in their file.
        """
        self._inline = inline
        self._data = self._read(read_blocking)
        return self._data

    def _read(self, read: Reader) -> Buffer | StoredRecords:
        while True:
            try:
                return self._find_and_read(read)
            except OSError as error:
                if not isinstance(error, FileNotFoundError) or self._log.segments is self._segments:
                    raise self._failed(error) from error
            # Retention or compaction has removed the segments since the plan was made.
            self._plan_again()

    def _plan_again(self) -> None:
        log = self._log
        segments = log.segments
        if self._offset < log.log_start_offset:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        self._segments = segments
        self._number = log.segment_number(self._offset, segments)
        self._position, self._end = -1, -1

    def _find_and_read(self, read: Reader) -> Buffer | StoredRecords:
        for number in range(self._number, len(self._segments)):
            segment = self._segments[number]
            if segment.base_offset >= self._upper:
                break
            if read is read_cached and not segment.size_known:
                raise WouldBlockError
            end = self._end if number == self._number and self._end >= 0 else segment.size
            position = self._position if number == self._number else 0
            if position < 0:
                if read is read_cached and not segment.indexes_loaded:
                    raise WouldBlockError
                position = segment.find(self._offset, end, read)
            if 0 <= position < end:  # compaction may have left a segment empty
                size = min(end - position, max(self._max_bytes, HEADER_SIZE))
                if size > self._inline:
                    stored = self._leave(number, position, end, read)
                    if stored is not None:
                        return stored
                return self._read_from(number, position, end, read)
        return b""

    def _segment_end(self, number: int) -> int:
        """Where readers find the segment to end: the next one begins there, or the upper offset is there."""
        following = number + 1
        return self._upper if following == len(self._segments) else self._segments[following].base_offset

    def _leave(self, number: int, position: int, end: int, read: Reader) -> Buffer | StoredRecords | None:
        """The batches from ``position`` up to the limit, left in their file; None if they are few enough to be read."""
        segment = self._segments[number]
        first = _length_at(read(segment.log, HEADER_SIZE, position))[0] + LOG_OVERHEAD
        if first > end - position:
            return None
        if first > self._max_bytes and not self._at_least_one:
            self._shut_out = True
            return b""
        after = self._segment_end(number)
        if not self._to_end and self._upper <= after:
            upper = segment.find(self._upper, end, read)
            if 0 <= upper < end:
                end, after = upper, self._upper
        stop = min(end, position + max(self._max_bytes, first))
        if stop < end:
            start = max(segment.indexes.batch_before(stop, read), position)
            stop, after = self._last_batch_end(segment, start, stop, end, read)
        if stop - position <= self._inline:
            return None
        self._after = min(after, self._upper)
        if read is read_cached and stop < end:
            segment.note_read(self._after, stop)
        return StoredRecords(self._log, segment, position, stop - position)

    def _last_batch_end(self, segment: Segment, start: int, stop: int, end: int, read: Reader) -> tuple[int, int]:
        """(where the last whole batch before ``stop`` ends, the offset after it); a batch begins at ``start``.

        Few batches are read to find them, of large ones the headers alone: a batch may be as large as the whole read.
        """
        if stop - start <= self._inline:
            tail = read(segment.log, min(stop + HEADER_SIZE, end) - start, start)
            kept, _ = batches.whole(memoryview(tail)[: stop - start], self._upper)
            return start + kept, _BASE_AND_LENGTH.unpack_from(tail, kept)[0]
        while True:
            base, length = _BASE_AND_LENGTH.unpack_from(read(segment.log, HEADER_SIZE, start))
            following = start + length + LOG_OVERHEAD
            if following > stop or base >= self._upper or length <= 0:
                return start, base
            start = following

    def _read_from(self, number: int, position: int, end: int, read: Reader) -> Buffer:
        segment, available = self._segments[number], end - position
        size = min(available, max(self._max_bytes, HEADER_SIZE))
        data = read(segment.log, size, position)
        if size < HEADER_SIZE:
            return b""
        first = _length_at(data)[0] + LOG_OVERHEAD
        if first > self._max_bytes:
            if not self._at_least_one or first > available:
                self._shut_out = first <= available
                return b""
            base, _, delta = PLACE.unpack_from(data)
            self._after = base + delta + 1
            return data if first == size else read(segment.log, first, position)
        if size == available and self._to_end:
            self._after = self._segment_end(number)
            return data
        start = 0
        if size > MOST_WALKED and self._to_end and segment.indexes_loaded:
            start = max(segment.indexes.batch_before(position + size, read) - position, 0)
        kept, after = batches.whole(data, self._upper, start)
        if kept and after < 0:  # the one that the index has is cut off
            (after,) = _BASE.unpack(read(segment.log, _BASE.size, position + kept))
        if read is read_cached and 0 < kept < available:
            segment.note_read(after, position + kept)
        self._after = after
        return data if kept == len(data) else memoryview(data)[:kept]

    def _failed(self, error: OSError) -> KafkaError:
        if self._log.deleted:
            return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{self._log.name} was deleted meanwhile.")
        return self._log.directory.unread(error, f"reading {self._log.name}")


def ask_segments(log: LogState, question: Callable[[list[Segment]], T], doing: str) -> T:
    """``question`` on the log's segments at the time of the call, in any thread; if retention or compaction removes segments meanwhile,
    again on the new ones. A file that is missing for another reason fails this question alone. Raises KafkaError
    KAFKA_STORAGE_ERROR, or UNKNOWN_TOPIC_OR_PARTITION if the topic was deleted meanwhile.
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

    return ask_segments(log, collect, "reading the transaction index of")
