"""The .txnindex file of a segment: the aborted transactions whose markers lie in it (KIP-98).

Entries are 34 bytes: version 0 (int16), producer id, first offset, offset of the marker, last stable offset at that
time (int64 each), in the order of the markers. Most segments have none, and then no file.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.storage.index.index import Reader, read_blocking

if TYPE_CHECKING:
    from pykbroker.storage.disk import Disk

_ENTRY = Struct(">hqqqq")
_CHUNK = 128 * _ENTRY.size


class AbortedTxn(NamedTuple):
    """An aborted transaction: its data is between ``first_offset`` and the marker at ``last_offset``."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


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
