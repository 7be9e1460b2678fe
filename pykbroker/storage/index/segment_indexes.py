"""Both sparse indexes of a segment, and its largest timestamp.

An entry is added when more than index.interval.bytes were written since the last one, as in Kafka's LogSegment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.storage.index.index import OffsetIndex, Reader, TimeIndex, read_blocking
from pykbroker.storage.log.config import LogConfig

if TYPE_CHECKING:
    from pykbroker.storage.disk import Disk


class SegmentIndexes:
    """The two indexes of the segment that begins at ``base_offset``. Methods raise OSError."""

    __slots__ = ("base_offset", "by_offset", "by_time", "bytes_since_entry", "full", "largest", "largest_offset")

    def __init__(self, disk: Disk, offset_path: str, time_path: str, base_offset: int) -> None:
        self.base_offset = base_offset
        self.by_offset = OffsetIndex(disk, offset_path)
        self.by_time = TimeIndex(disk, time_path)
        #: The largest timestamp and the last offset of its batch; -1 if no batch has a timestamp.
        self.largest = -1
        self.largest_offset = -1
        #: The indexes are full: the next batch begins a new segment.
        self.full = False
        #: Bytes of batches since the last entries; more than index.interval.bytes: others are due.
        self.bytes_since_entry = 0

    @classmethod
    def create(cls, disk: Disk, offset_path: str, time_path: str, base_offset: int) -> SegmentIndexes:
        """Create both files, empty."""
        disk.create(offset_path)
        disk.create(time_path)
        return cls(disk, offset_path, time_path, base_offset)

    def load(self, log_size: int) -> bool:
        """Load both files; False if they are missing or damaged, for instance a preallocated file of Kafka that was never
        trimmed.
        """
        try:
            whole = self.by_offset.load() and self.by_time.load()
        except FileNotFoundError:
            return False
        self._take_largest()
        place, time = self.by_offset.last, self.by_time.last
        places_fit = place is None or (place[0] >= 0 and 0 < place[1] < log_size)
        return whole and places_fit and (time is None or (time[0] > 0 and time[1] >= 0))

    def _take_largest(self) -> None:
        last = self.by_time.last
        self.largest, self.largest_offset = (last[0], last[1] + self.base_offset) if last else (-1, -1)

    def make_room(self) -> None:
        """Before a batch is written for which entries are due: do what may fail, so that ``note`` changes only memory."""
        self.by_offset.make_room()
        self.by_time.make_room()

    def note(self, position: int, size: int, last_offset: int, timestamp: int, config: LogConfig) -> None:
        """Note a batch at ``position`` of the .log file, with index entries if due."""
        if timestamp > self.largest:
            self.largest, self.largest_offset = timestamp, last_offset
        if self.bytes_since_entry <= config.index_interval_bytes:
            self.bytes_since_entry += size
            return
        self.bytes_since_entry = size
        by_offset, by_time, room = self.by_offset, self.by_time, config.segment_index_bytes
        by_offset.append(last_offset - self.base_offset, position)
        self._add_time()
        self.full = by_offset.count >= room // 8 or by_time.count >= room // 12 - 1

    def _add_time(self) -> None:
        last = self.by_time.last
        if self.largest > (last[0] if last else -1):
            self.by_time.append(self.largest, self.largest_offset - self.base_offset)

    def position_before(self, offset: int, read: Reader = read_blocking) -> int:
        """Position of a batch at or before the one that holds ``offset``."""
        entry = self.by_offset.floor(0, offset - self.base_offset, read)
        return entry[1] if entry else 0

    def offset_before(self, timestamp: int) -> int:
        """An offset at or before the first record with ``timestamp``."""
        entry = self.by_time.floor(0, timestamp)
        return self.base_offset + (entry[1] if entry else 0)

    def batch_before(self, position: int, read: Reader) -> int:
        """Position of a batch at or before ``position``, near it."""
        entry = self.by_offset.floor(1, position, read)
        return entry[1] if entry else 0

    def finish(self) -> bool:
        """Write all entries; returns whether anything was written."""
        self._add_time()
        by_offset, by_time = self.by_offset.write_tail(), self.by_time.write_tail()
        return by_offset or by_time

    def truncate(self, offset: int) -> None:
        """Forget batches that end at ``offset`` or later; those after the last entry must be noted again."""
        self.by_offset.truncate(0, offset - self.base_offset)
        self.by_time.truncate(1, offset - self.base_offset)
        self._take_largest()
        self.full = False
        self.bytes_since_entry = 0

    def sync(self) -> None:
        """Sync both files."""
        self.by_offset.file.sync()
        self.by_time.file.sync()

    def close(self) -> None:
        """Close the descriptors."""
        self.by_offset.file.close()
        self.by_time.file.close()
