"""The two sparse indexes of a segment: offset to position, and timestamp to offset.

Kafka's files: ``.index`` holds (offset - base: int32, position: int32), ``.timeindex`` holds (timestamp: int64,
offset - base: int32), both rising. Kafka maps a preallocated file; here the last entries are kept in memory and written in groups, so
that a file holds nothing but entries, even after a kill (recovery rebuilds unwritten ones from the batches that it reads).
Look-ups bisect with positional reads; no index is loaded as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING

from pykbroker.wire.primitives import Buffer

if TYPE_CHECKING:
    from pykbroker.storage.disk import Disk, File

_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")

#: Entries kept in memory before they are written.
_TAIL_ENTRIES = 128
#: Bisection stops here and reads the remaining entries at once.
_BLOCK_ENTRIES = 256

#: Reads ``size`` bytes at ``position`` of a file: blocking, or raising WouldBlockError.
Reader = Callable[["File", int, int], Buffer]


class WouldBlockError(Exception):
    """The bytes are not in memory; retry in a thread that may wait."""


def read_blocking(file: File, size: int, position: int) -> Buffer:
    """A :data:`Reader` that waits for the disk."""
    return file.pread(size, position)


def read_cached(file: File, size: int, position: int) -> Buffer:
    """A :data:`Reader` that never waits. Raises WouldBlockError instead."""
    data = file.pread_cached(size, position)
    if data is None:
        raise WouldBlockError
    return data


class SparseIndex:
    """Rising pairs of numbers in a file, the last of them in memory.

    Only the thread that owns the log appends and truncates. Look-ups may run in another thread, over the first
    ``count`` entries at the time of planning.
    """

    __slots__ = ("_entry", "_tail", "_written", "count", "file", "last")

    def __init__(self, disk: Disk, path: str, entry: Struct) -> None:
        self.file: File = disk.open(path)
        self._entry = entry
        self._written = 0
        self._tail: list[tuple[int, int]] = []
        #: The last entry, or None, and the number of all.
        self.last: tuple[int, int] | None = None
        self.count = 0

    def load(self) -> bool:
        """Load the entries of an existing file; False if its size is no multiple of an entry's."""
        size = self.file.size()
        self._tail = []
        self._written, rest = divmod(size, self._entry.size)
        self.count = self._written
        self.last = self._read(self._written - 1) if self._written else None
        return rest == 0

    def _read(self, number: int) -> tuple[int, int]:
        data = self.file.pread(self._entry.size, number * self._entry.size)
        return self._entry.unpack(data)

    def append(self, first: int, second: int) -> None:
        """Add an entry in memory; ``make_room`` or ``write_tail`` writes it."""
        self.last = (first, second)
        self._tail.append(self.last)
        self.count += 1

    def make_room(self) -> None:
        """Write the entries in memory if there are many. Raises OSError, without losing an entry."""
        if len(self._tail) >= _TAIL_ENTRIES:
            self.write_tail()

    def write_tail(self) -> bool:
        """Write the entries in memory; returns whether there were any."""
        if not self._tail:
            return False
        pack = self._entry.pack
        data = b"".join([pack(*entry) for entry in self._tail])
        self.file.pwrite(data, self._written * self._entry.size)
        # One assignment each, file first: a concurrent look-up may see entries twice, but misses none.
        self._written += len(self._tail)
        self._tail = []
        return True

    def floor(self, column: int, value: int, read: Reader = read_blocking) -> tuple[int, int] | None:
        """The last entry whose ``column`` is at most ``value``, or None. ``read`` may raise WouldBlockError."""
        tail = self._tail
        if tail and tail[0][column] <= value:
            low, high = 0, len(tail)
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if tail[middle][column] <= value else (low, middle)
            return tail[low]
        return self._floor_in_file(column, value, read)

    def _floor_in_file(self, column: int, value: int, read: Reader) -> tuple[int, int] | None:
        unpack_from, size = self._entry.unpack_from, self._entry.size
        low, high = 0, self._written
        while high - low > _BLOCK_ENTRIES:
            middle = (low + high) // 2
            if unpack_from(read(self.file, size, middle * size))[column] <= value:
                low = middle
            else:
                high = middle
        if low == high:
            return None
        found: tuple[int, int] | None = None
        for entry in self._entry.iter_unpack(read(self.file, (high - low) * size, low * size)):
            if entry[column] > value:
                break
            found = entry
        return found

    def truncate(self, column: int, limit: int) -> None:
        """Drop the entries whose ``column`` is ``limit`` or more."""
        self.write_tail()
        low, high = 0, self._written
        while low < high:
            middle = (low + high) // 2
            if self._read(middle)[column] < limit:
                low = middle + 1
            else:
                high = middle
        self._written = self.count = low
        self.file.truncate(low * self._entry.size)
        self.last = self._read(low - 1) if low else None

    def reset(self) -> None:
        """Drop all entries."""
        self._tail = []
        self._written = self.count = 0
        self.last = None
        self.file.truncate(0)

    def close(self) -> None:
        """Write the entries in memory and close the descriptor."""
        self.write_tail()
        self.file.close()


class OffsetIndex(SparseIndex):
    """Entries (offset relative to the segment's base, position in the .log file)."""

    __slots__ = ()

    def __init__(self, disk: Disk, path: str) -> None:
        super().__init__(disk, path, _OFFSET_ENTRY)


class TimeIndex(SparseIndex):
    """Entries (timestamp, offset relative to the segment's base of the batch that brought it)."""

    __slots__ = ()

    def __init__(self, disk: Disk, path: str) -> None:
        super().__init__(disk, path, _TIME_ENTRY)
