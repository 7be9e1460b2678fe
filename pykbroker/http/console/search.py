"""Searches records by time, newest or oldest first: a bounded piece of work, and a cursor for the next one.

Each partition is read in windows of offsets, which are merged by timestamp. After a window with few records a larger
one follows, so that a compacted log is searched quickly, too.
"""

from __future__ import annotations

from collections import deque
from contextlib import aclosing
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import TYPE_CHECKING, Any, Final

from pykbroker.client.errors import raise_for
from pykbroker.http.console import search_offsets
from pykbroker.http.console.reading import end_of, fetch, fetch_request, records_of, size_of
from pykbroker.http.console.record_json import record_json
from pykbroker.metadata.image import NO_LEADER
from pykbroker.wire.errors import ErrorCode, error_code

if TYPE_CHECKING:
    from collections.abc import Callable

    from pykbroker.http.console.console import Console
    from pykbroker.http.console.matching import Matcher
    from pykbroker.http.console.search_offsets import OffsetRange
    from pykbroker.wire.records import Record

#: Limits of one piece of a search; bytes are those of decompressed records.
_MOST_RECORDS: Final = 20_000
_MOST_BYTES: Final = 16 * 1024 * 1024
#: Limits of one Fetch.
_FETCHED: Final = 256 * 1024
#: Estimated bytes that all windows together may bring.
_WINDOW_BYTES: Final = 2 * 1024 * 1024
_WINDOW_RECORDS: Final = 8000
#: A round with fewer records is followed by one of larger windows.
_FEW: Final = 500
_WIDER: Final = 4
#: Multiple of the records wanted that is kept of all windows together, and a minimum for each.
_KEPT: Final = 4


@dataclass(slots=True)
class _Window:
    """The records of one window, in the order in which they are taken from the end."""

    place: OffsetRange
    low: int
    high: int
    records: deque[dict[str, Any]]


@dataclass(slots=True)
class Search:
    """See the module. ``gone`` says whether the client has disconnected."""

    console: Console
    topic: str
    places: list[OffsetRange]
    matcher: Matcher
    newest: bool
    limit: int
    isolation: int
    gone: Callable[[], bool]
    found: list[dict[str, Any]] = field(default_factory=list)
    scanned: int = 0
    size: int = 0

    async def run(self) -> dict[str, Any]:
        """Return the records found and the cursor. Raises VerbRefused, and the KafkaError of a Fetch."""
        turn = self.console.turn()
        width, usual = self._width(self.limit * 2), self._width(_WINDOW_RECORDS)
        while not self._is_over():
            before = self.scanned
            windows = []
            for place in self.places:
                windows.append(await self._window(place, width))
                await turn.share()
            self._take(windows)
            self.places = [place for place in self.places if place.left]
            if self.scanned - before < _FEW:
                width *= _WIDER
            elif not self.matcher.fits_all:  # few of them fit
                width = min(width * _WIDER, max(width, usual))
        return {
            "records": self.found,
            "scanned": self.scanned,
            "left": sum(place.left for place in self.places),
            "cursor": search_offsets.written(self.places) or None,
        }

    def _is_over(self) -> bool:
        enough = len(self.found) >= self.limit or self.scanned >= _MOST_RECORDS or self.size >= _MOST_BYTES
        return not self.places or enough or self.gone()

    def _width(self, wanted: int) -> int:
        """Return the width of windows in offsets with which all of them together have about ``wanted``, limited for memory."""
        of_each = max(wanted // max(len(self.places), 1), 16)
        logs = [self.console.brokers.partition(self.topic, place.index).opened_log for place in self.places]
        size = sum(log.size_bytes for log in logs if log is not None)
        count = sum(log.log_end_offset - log.log_start_offset for log in logs if log is not None)
        return max(min(of_each, int(_WINDOW_BYTES * count / max(size * len(self.places), 1)) if count else of_each), 1)

    async def _window(self, place: OffsetRange, width: int) -> _Window:
        low, high = place.low, place.high
        if self.newest:
            low = max(low, high - width)
        else:
            high = min(high, low + width)
        window = _Window(place, low, high, deque())
        offset = low
        while offset < window.high:
            offset = await self._read(window, offset)
        return window

    async def _read(self, window: _Window, offset: int) -> int:
        """Read once from ``offset`` on; returns the next offset."""
        index = window.place.index
        partition = self.console.brokers.partition(self.topic, index)
        if partition.leader == NO_LEADER:
            return window.high
        request = fetch_request(self.topic, [(index, offset)], most=_FETCHED, isolation=self.isolation)
        (data,) = await fetch(self.console, partition.leader, request)
        if error_code(data.error_code) is ErrorCode.OFFSET_OUT_OF_RANGE and offset < partition.log_start_offset:
            return partition.log_start_offset  # retention moved the log start offset meanwhile
        raise_for(data.error_code)
        if not data.records:
            return window.high
        low = self._aligned(window, offset, data.records)
        async with aclosing(records_of(self.console, data, low, window.high)) as records:
            async for some in records:
                for record, control in some:
                    self._look(window, record, control=control)
                    if not self.newest and len(window.records) >= self._most():
                        window.high = end_of(record)
                        return window.high
        return search_offsets.end_of(
            data.records
        )  # the last offsets of a batch may have been compacted away, or aborted

    def _aligned(self, window: _Window, offset: int, raw: Any) -> int:
        """Move a window's end to a batch boundary, so that no batch is decoded for two windows.

        Returns the first offset of the batches.
        """
        place = window.place
        if not self.newest:
            window.high = min(place.high, max(window.high, search_offsets.end_of(raw, window.high)))
        elif offset == window.low:
            offset = window.low = max(place.low, min(offset, search_offsets.begin_of(raw)))
        return offset

    def _look(self, window: _Window, record: Record, *, control: bool) -> None:
        self.scanned += 1
        self.size += size_of(record)
        if self.matcher(record) and not (control and not self.matcher.fits_all):
            window.records.append(record_json(self.topic, window.place.index, record, control=control))
            if len(window.records) > self._most():  # keep the newest; older ones are left for another piece
                window.records.popleft()
                window.low = window.records[0]["offset"]

    def _most(self) -> int:
        """Return the most records to keep of one window, since all windows are in memory at once."""
        return max(_KEPT * self.limit // len(self.places), _KEPT)

    def _take(self, windows: list[_Window]) -> None:
        """Take the newest, or oldest, records off the windows until there are enough."""
        heap = [(self._time(window), number) for number, window in enumerate(windows) if window.records]
        heapify(heap)
        while heap and len(self.found) < self.limit:
            window = windows[heap[0][1]]
            record = window.records.pop() if self.newest else window.records.popleft()
            self.found.append(record)
            if self.newest:
                window.place.high = record["offset"]
            else:
                window.place.low = record.get("last", record["offset"]) + 1
            if window.records:
                heapreplace(heap, (self._time(window), heap[0][1]))
            else:
                heappop(heap)
        for window in windows:
            if not window.records:
                window.place.low, window.place.high = (
                    (window.place.low, window.low) if self.newest else (window.high, window.place.high)
                )

    def _time(self, window: _Window) -> int:
        """The order of windows: by the timestamp of the next record."""
        time: int = -window.records[-1]["timestamp"] if self.newest else window.records[0]["timestamp"]
        return time
