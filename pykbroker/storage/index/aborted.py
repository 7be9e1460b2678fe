"""The .txnindex file of a segment: the aborted transactions whose markers lie in it (KIP-98).

Entries are 34 bytes: version 0 (int16), producer id, first offset, offset of the marker, last stable offset at that
time (int64 each), in the order of the markers. Most segments have none, and then no file.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import attrgetter, itemgetter
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.storage.index.index import Reader, read_blocking

if TYPE_CHECKING:
    from pykbroker.storage.disk import Disk
    from pykbroker.wire.batch_header import BatchHeader

_ENTRY = Struct(">hqqqq")
_CHUNK = 128 * _ENTRY.size
_first_offset = attrgetter("first_offset")
_first = itemgetter(0)


class AbortedTxn(NamedTuple):
    """An aborted transaction: its data is between ``first_offset`` and the marker at ``last_offset``."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class AbortedRanges:
    """Which batches are of these aborted transactions; those of one producer do not overlap. Asking costs no walk over all."""

    __slots__ = ("_of_producers",)

    def __init__(self, transactions: Iterable[AbortedTxn]) -> None:
        #: Of each producer id the first and last offsets, in order.
        self._of_producers: dict[int, list[tuple[int, int]]] = {}
        for each in sorted(transactions, key=_first_offset):
            self._of_producers.setdefault(each.producer_id, []).append((each.first_offset, each.last_offset))

    def cover(self, header: BatchHeader) -> bool:
        """Whether a batch has records of an aborted transaction."""
        if not header.is_transactional or header.is_control:
            return False
        ranges = self._of_producers.get(header.producer_id)
        if ranges is None:
            return False
        following = bisect_right(ranges, header.base_offset, key=_first)
        return following > 0 and header.base_offset <= ranges[following - 1][1]


class AbortedIndex:
    """The aborted transactions of one segment."""

    __slots__ = ("_disk", "_size", "file")

    def __init__(self, disk: Disk, path: str, size: int = 0) -> None:
        self._disk = disk
        self._size = size
        self.file = disk.open(path)

    def __bool__(self) -> bool:
        return self._size > 0

    def append(self, txn: AbortedTxn) -> None:
        """Add a transaction; markers come in the order of their offsets. Raises OSError."""
        if self._size == 0:
            self._disk.create(self.file.path)
        self.file.pwrite(_ENTRY.pack(0, *txn), self._size)
        self._size += _ENTRY.size

    def collect(
        self, start_offset: int, upper_offset: int, read: Reader = read_blocking
    ) -> tuple[list[AbortedTxn], bool]:
        """Transactions that overlap [start_offset, upper_offset), and whether later segments need no search."""
        found: list[AbortedTxn] = []
        for txn in self._entries_from(start_offset, read):
            if txn.first_offset < upper_offset:
                found.append(txn)
            if txn.last_stable_offset >= upper_offset:
                return found, True
        return found, False

    def _entries_from(self, offset: int, read: Reader) -> Iterator[AbortedTxn]:
        """Entries with markers at ``offset`` or later."""
        low, high = 0, self._size // _ENTRY.size
        while low < high:
            middle = (low + high) // 2
            if _ENTRY.unpack(read(self.file, _ENTRY.size, middle * _ENTRY.size))[3] < offset:
                low = middle + 1
            else:
                high = middle
        position = low * _ENTRY.size
        while position < self._size:
            data = read(self.file, min(_CHUNK, self._size - position), position)
            for entry in _ENTRY.iter_unpack(data):
                yield AbortedTxn(*entry[1:])
            position += len(data)

    def all(self) -> list[AbortedTxn]:
        """Every entry."""
        return list(self._entries_from(-1, read_blocking))

    def truncate(self, offset: int) -> None:
        """Drop transactions whose markers lie at ``offset`` or later."""
        if self._size:
            kept = sum(txn.last_offset < offset for txn in self.all())
            self._size = kept * _ENTRY.size
            self.file.truncate(self._size)

    def reset(self) -> None:
        """Drop all."""
        if self._size:
            self._size = 0
            self.file.truncate(0)
