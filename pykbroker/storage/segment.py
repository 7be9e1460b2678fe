"""One segment: a .log file of batches, its two sparse indexes, and its aborted transactions.

The files are those of Kafka's LogSegment. Only the active segment, the last one, is appended to; its youngest batches'
positions are kept in memory, so that reads at the tail need no index.
"""

from __future__ import annotations

import contextlib
import threading
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from struct import Struct

from pykbroker.storage.aborted import AbortedIndex
from pykbroker.storage.config import LogConfig
from pykbroker.storage.directory import DELETED, SEGMENT_SUFFIXES
from pykbroker.storage.disk import Disk, File
from pykbroker.storage.index import OffsetIndex, Reader, TimeIndex, read_blocking
from wire.batch_header import HEADER_SIZE, LOG_OVERHEAD, MAGIC, BatchHeader, batch_crc_ok, read_batch_header
from wire.errors import WireError
from wire.primitives import Buffer

#: Base offset, length and last offset delta: what finding a batch needs.
PLACE = Struct(">qi11xi")

#: Bytes read at once while looking for a batch, and while going through a whole segment.
_LOOK_BYTES = 8 * 1024
_SCAN_BYTES = 1024 * 1024

#: Positions of so many youngest batches are kept.
_RECENT = 64

_MAX_RELATIVE_OFFSET = 2**31 - 1

#: A cold read in a worker thread may load the indexes of a closed segment while the loop does.
_loading = threading.Lock()


def segment_name(base_offset: int) -> str:
    """File names are the base offset in 20 digits."""
    return f"{base_offset:020d}"


class Segment:
    """Batches from ``base_offset`` on. Methods that touch files raise OSError."""

    __slots__ = (
        "_aborted",
        "_bytes_since_index",
        "_index_full",
        "_offset_index",
        "_recent_offsets",
        "_recent_positions",
        "_size",
        "_time_index",
        "base_offset",
        "created_ms",
        "disk",
        "first_timestamp",
        "jitter_ms",
        "log",
        "max_timestamp",
        "max_timestamp_offset",
        "stem",
        "suffix",
    )

    def __init__(
        self,
        disk: Disk,
        directory: str,
        base_offset: int,
        *,
        created_ms: int = 0,
        has_aborted: bool = False,
        suffix: str = "",
    ) -> None:
        self.disk = disk
        self.base_offset = base_offset
        self.stem = f"{directory}/{segment_name(base_offset)}"
        #: Behind every file's name: ``.deleted``, or ``.cleaned`` and ``.swap`` while compaction replaces segments.
        self.suffix = suffix
        self.log: File = disk.open(self.path(".log"))
        self._size = -1
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._aborted: AbortedIndex | None = None if has_aborted else AbortedIndex(disk, self.path(".txnindex"))
        self._bytes_since_index = 0
        self._index_full = False
        self._recent_offsets = array("q")
        self._recent_positions = array("q")
        self.created_ms = created_ms
        #: segment.jitter.ms: so much earlier than segment.ms this one rolls.
        self.jitter_ms = 0
        #: Largest timestamp of the first batch, from which segment.ms counts; -1 while there is none.
        self.first_timestamp = -1
        #: Largest timestamp and the last offset of its batch; None until read from the time index.
        self.max_timestamp: int | None = None
        self.max_timestamp_offset = -1

    @classmethod
    def create(cls, disk: Disk, directory: str, base_offset: int, now_ms: int, suffix: str = "") -> Segment:
        """Make the files of a new segment, the .log last: a failure in between leaves nothing that counts."""
        segment = cls(disk, directory, base_offset, created_ms=now_ms, suffix=suffix)
        segment.begin_rebuild()
        disk.create(segment.path(".log"))
        segment._size = 0
        return segment

    def path(self, kind: str) -> str:
        """Name of the file of a kind: ``.log``, ``.index``, ``.timeindex`` or ``.txnindex``."""
        return f"{self.stem}{kind}{self.suffix}"

    # -- what it holds ------------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Bytes of batches."""
        if self._size < 0:
            self._size = self.log.size()
        return self._size

    @property
    def offset_index(self) -> OffsetIndex:
        """The offset index, loaded at first use and rebuilt when it is missing or damaged."""
        if self._offset_index is None:
            with _loading:
                self._load_indexes()
        assert self._offset_index is not None
        return self._offset_index

    @property
    def time_index(self) -> TimeIndex:
        """The time index, as ``offset_index``."""
        if self._time_index is None:
            with _loading:
                self._load_indexes()
        assert self._time_index is not None
        return self._time_index

    @property
    def aborted(self) -> AbortedIndex:
        """The aborted transactions whose markers lie here."""
        if self._aborted is None:
            path = self.path(".txnindex")
            self._aborted = AbortedIndex(self.disk, path, self.disk.size(path))
        return self._aborted

    @property
    def indexes_loaded(self) -> bool:
        return self._offset_index is not None

    def _load_indexes(self) -> None:
        if self._offset_index is not None:
            return
        by_offset = OffsetIndex(self.disk, self.path(".index"))
        by_time = TimeIndex(self.disk, self.path(".timeindex"))
        try:
            sound = by_offset.load() and by_time.load() and self._indexes_fit(by_offset, by_time)
        except FileNotFoundError:
            sound = False
        if sound:
            self._time_index, self._offset_index = by_time, by_offset
        else:
            self.rebuild_indexes()

    def _indexes_fit(self, by_offset: OffsetIndex, by_time: TimeIndex) -> bool:
        """Cheap signs of damage, such as the zeros of a preallocated file that was never cut to its size."""
        if by_offset.last is not None and (by_offset.last[0] < 0 or not 0 < by_offset.last[1] < self.size):
            return False
        return by_time.last is None or (by_time.last[0] > 0 and by_time.last[1] >= 0)

    def largest_timestamp(self) -> tuple[int, int]:
        """(largest timestamp, last offset of the batch that has it); (-1, -1) where no batch has one."""
        if self.max_timestamp is None:
            last = self.time_index.last
            self.max_timestamp = last[0] if last else -1
            self.max_timestamp_offset = last[1] + self.base_offset if last else -1
        return self.max_timestamp, self.max_timestamp_offset

    def first_batch_timestamp(self) -> int:
        """Largest timestamp of the first batch; -1 where it has none."""
        if self.first_timestamp < 0 and self.size:
            self.first_timestamp = next((header.max_timestamp for _, header, _ in self.batches()), -1)
        return self.first_timestamp

    def end(self) -> tuple[int, int]:
        """(offset after the last whole batch, its end in the file), looked for from the last index entry on."""
        last = self.offset_index.last
        offset, position = self.base_offset, last[1] if last else 0
        for at, header, _ in self.batches(position):
            offset, position = header.last_offset + 1, at + header.size
        return offset, position

    # -- appending ----------------------------------------------------------------------------------------------------

    def must_roll(self, size: int, last_offset: int, timestamp: int, now_ms: int, config: LogConfig) -> bool:
        """Whether a batch of ``size`` bytes belongs into a new segment: size, age, index fullness, offset range."""
        mine = self._size
        if mine > config.segment_bytes - size:
            return True
        if mine > 0 and self._age(timestamp, now_ms) > config.roll_ms - self.jitter_ms:
            return True
        return self._index_full or last_offset - self.base_offset > _MAX_RELATIVE_OFFSET

    def _age(self, timestamp: int, now_ms: int) -> int:
        """In the time of the records where they have one, else by the clock."""
        if self.first_timestamp >= 0 and timestamp >= 0:
            return timestamp - self.first_timestamp
        return now_ms - self.created_ms

    def append(self, data: Buffer, first_offset: int, last_offset: int, timestamp: int, config: LogConfig) -> None:
        """Write one batch at the end. After an error any part of it may be in the file: ``take_back``."""
        due = self._bytes_since_index > config.index_interval_bytes
        if due:
            # What may fail comes first; from the write of the batch on, only memory changes.
            self.offset_index.make_room()
            self.time_index.make_room()
        if self.max_timestamp is None:
            self.largest_timestamp()
        position = self._size
        self.log.pwrite(data, position)
        size = len(data)
        self._size = position + size
        if position == 0:
            self.first_timestamp = timestamp
        if timestamp > self.max_timestamp:  # type: ignore[operator]  # read above
            self.max_timestamp = timestamp
            self.max_timestamp_offset = last_offset
        offsets = self._recent_offsets
        if len(offsets) >= 2 * _RECENT:
            del offsets[:_RECENT], self._recent_positions[:_RECENT]
        offsets.append(first_offset)
        self._recent_positions.append(position)
        if due:
            self._add_index_entries(last_offset, position)
            self._bytes_since_index = size
            room = config.segment_index_bytes
            self._index_full = len(self.offset_index) >= room // 8 or len(self.time_index) >= room // 12 - 1
        else:
            self._bytes_since_index += size

    def _add_index_entries(self, last_offset: int, position: int) -> None:
        self.offset_index.append(last_offset - self.base_offset, position)
        self._add_time_entry()

    def _add_time_entry(self) -> None:
        timestamp, offset = self.largest_timestamp()
        last = self.time_index.last
        if timestamp > (last[0] if last else -1):
            self.time_index.append(timestamp, offset - self.base_offset)

    def take_back(self, size: int) -> None:
        """Cut the file to ``size`` bytes after a failed append."""
        self.log.truncate(size)
        self._size = size

    def finish(self) -> bool:
        """Complete the indexes: before another segment becomes the active one, and at a clean stop. Whether anything
        was written.
        """
        if self._offset_index is None or self._time_index is None:
            return False
        self._add_time_entry()
        by_offset, by_time = self._offset_index.write_tail(), self._time_index.write_tail()
        return by_offset or by_time

    def retire(self) -> None:
        """The segment is no longer the active one: nothing is kept in memory that a file holds."""
        del self._recent_offsets[:], self._recent_positions[:]

    # -- finding ------------------------------------------------------------------------------------------------------

    def recent_position(self, offset: int) -> int:
        """Where the batch that holds ``offset`` begins, if it is one of the youngest; else -1."""
        offsets = self._recent_offsets
        if not offsets or offset < offsets[0]:
            return -1
        return self._recent_positions[bisect_right(offsets, offset) - 1]

    def find(self, offset: int, end: int, read: Reader = read_blocking) -> int:
        """Position of the first batch that ends at ``offset`` or later, looking before ``end``; -1 where there is none."""
        entry = self.offset_index.floor(0, offset - self.base_offset, read)
        return self.find_from(entry[1] if entry else 0, offset, end, read)

    def find_from(self, position: int, offset: int, end: int, read: Reader = read_blocking) -> int:
        """As ``find``, from the batch at ``position`` on."""
        start, chunk = position, b""
        while position + HEADER_SIZE <= end:
            at = position - start
            if at + PLACE.size > len(chunk):
                start, at = position, 0
                chunk = bytes(read(self.log, min(_LOOK_BYTES, end - position), position))
            base, length, delta = PLACE.unpack_from(chunk, at)
            if base + delta >= offset:
                return position
            if length <= 0:
                return -1
            position += length + LOG_OVERHEAD
        return -1

    def batches(
        self, position: int = 0, end: int | None = None, *, checked: bool = False
    ) -> Iterator[tuple[int, BatchHeader, Buffer]]:
        """(position, header, bytes) of the batches from ``position`` on; stops at the first that is cut or malformed.

        With ``checked``, the CRC decides too. Waits for the disk. The bytes may be kept.
        """
        end = self.size if end is None else end
        start, chunk = position, b""
        while position + HEADER_SIZE <= end:
            at = position - start
            if at + HEADER_SIZE > len(chunk):
                start, at = position, 0
                chunk = self.log.pread(min(_SCAN_BYTES, end - position), position)
            try:
                header = read_batch_header(chunk, at)
            except WireError:
                return
            size = header.size
            if header.magic != MAGIC or position + size > end:
                return
            if at + size > len(chunk):
                start, at = position, 0
                chunk = self.log.pread(max(size, min(_SCAN_BYTES, end - position)), position)
                if len(chunk) < size:
                    return
            if checked and not batch_crc_ok(chunk, at, size):
                return
            yield position, header, memoryview(chunk)[at : at + size]
            position += size

    # -- repair -------------------------------------------------------------------------------------------------------

    def begin_rebuild(self) -> None:
        """Empty both indexes and the timestamps, before the batches are gone through again with ``index_batch``."""
        self.disk.create(self.path(".index"))
        self.disk.create(self.path(".timeindex"))
        self._offset_index = OffsetIndex(self.disk, self.path(".index"))
        self._time_index = TimeIndex(self.disk, self.path(".timeindex"))
        self.max_timestamp, self.max_timestamp_offset = -1, -1
        self._bytes_since_index = 0
        self.retire()

    def index_batch(self, position: int, header: BatchHeader, interval: int) -> None:
        """Index a batch that is already in the file, as ``append`` does for a new one."""
        assert self.max_timestamp is not None
        if position == 0:
            self.first_timestamp = header.max_timestamp
        if header.max_timestamp > self.max_timestamp:
            self.max_timestamp, self.max_timestamp_offset = header.max_timestamp, header.last_offset
        if self._bytes_since_index > interval:
            self._add_index_entries(header.last_offset, position)
            self._bytes_since_index = 0
        self._bytes_since_index += header.size
        self.offset_index.make_room()
        self.time_index.make_room()

    def extend(self, data: Buffer, headers: list[BatchHeader], interval: int) -> None:
        """Write batches at the end of a segment that compaction makes, and index them."""
        position = self._size
        self.log.pwrite(data, position)
        for header in headers:
            self.index_batch(position, header, interval)
            position += header.size
        self._size = position

    def sync(self) -> None:
        """Sync every file."""
        for kind, path in zip(SEGMENT_SUFFIXES, self.paths(), strict=True):
            if kind != ".txnindex" or self.aborted:
                self.disk.open(path).sync()

    def rebuild_indexes(self, interval: int = 4096) -> None:
        """Make both indexes anew from the batches, and sync them: whoever loads the log next takes them on trust."""
        self.begin_rebuild()
        for position, header, _ in self.batches():
            self.index_batch(position, header, interval)
        self.finish()
        self.offset_index.file.sync()
        self.time_index.file.sync()
        self.disk.sync_directory(self.stem.rpartition("/")[0])

    def truncate(self, offset: int) -> None:
        """Drop the batches that end at ``offset`` or later."""
        position = self.find(offset, self.size)
        if position >= 0:
            self.log.truncate(position)
            self._size = position
        self.offset_index.truncate(0, offset - self.base_offset)
        self.time_index.truncate(1, offset - self.base_offset)
        self.aborted.truncate(offset)
        self._bytes_since_index = 0
        self.retire()
        if self._size == 0:
            self.first_timestamp = -1
        self.recompute_timestamps()

    def recompute_timestamps(self) -> None:
        """Largest timestamp from the time index's last entry and the batches after it."""
        last = self.time_index.last
        self.max_timestamp = last[0] if last else -1
        self.max_timestamp_offset = last[1] + self.base_offset if last else -1
        entry = self.offset_index.floor(0, last[1]) if last else None
        for _, header, _data in self.batches(entry[1] if entry else 0):
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp, self.max_timestamp_offset = header.max_timestamp, header.last_offset

    # -- files --------------------------------------------------------------------------------------------------------

    def paths(self) -> list[str]:
        """Names of the files that the segment has, perhaps, one by one."""
        return [self.path(kind) for kind in SEGMENT_SUFFIXES]

    def rename(self, suffix: str) -> None:
        """Give every file another suffix; open descriptors stay valid. Interrupted by a crash, it leaves a segment that
        lacks nothing, or files without a .log that do not count: the .log goes first to ``.deleted``, else last.
        """
        before = dict(zip(SEGMENT_SUFFIXES, self.paths(), strict=True))
        self.suffix = suffix
        log, *others = SEGMENT_SUFFIXES
        for kind in (log, *others) if suffix == DELETED else (*others, log):
            with contextlib.suppress(FileNotFoundError):
                self.disk.rename(before[kind], self.path(kind))
        self.log.path = self.path(".log")
        if self._offset_index is not None and self._time_index is not None:
            self._offset_index.file.path = self.path(".index")
            self._time_index.file.path = self.path(".timeindex")
        if self._aborted is not None:
            self._aborted.file.path = self.path(".txnindex")

    def close(self) -> None:
        """Give back the descriptors."""
        self.log.close()
        if self._offset_index is not None and self._time_index is not None:
            self._offset_index.file.close()
            self._time_index.file.close()
        if self._aborted is not None:
            self._aborted.file.close()
