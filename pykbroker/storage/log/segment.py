"""One segment: a .log file of batches, its two sparse indexes, and its aborted transactions.

The files are those of Kafka's LogSegment. Only the active segment, the last one, is appended to; the positions of its last
batches are kept in memory, so that reads at the tail need no index.
"""

from __future__ import annotations

import contextlib
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from threading import Lock
from typing import TYPE_CHECKING

from pykbroker.storage.directory import DELETED, SEGMENT_SUFFIXES
from pykbroker.storage.index.aborted import AbortedIndex
from pykbroker.storage.index.index import Reader, read_blocking
from pykbroker.storage.index.segment_indexes import SegmentIndexes
from pykbroker.storage.log import batches
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.old_formats import refuse_old_format
from pykbroker.wire.batch_header import HEADER_SIZE, BatchHeader, read_batch_header
from pykbroker.wire.errors import WireError
from pykbroker.wire.primitives import Buffer

if TYPE_CHECKING:
    from pykbroker.storage.disk import Disk, File

#: The number of last batches whose positions are kept.
_RECENT = 64

#: The number of readers of a segment for which the place is kept where they go on.
_READERS = 16

_MAX_RELATIVE_OFFSET = 2**31 - 1

_DEFAULTS = LogConfig()


def segment_name(base_offset: int) -> str:
    """File names are the base offset in 20 digits."""
    return f"{base_offset:020d}"


class Segment:
    """Batches from ``base_offset`` on. Methods that touch files raise OSError."""

    __slots__ = (
        "_aborted",
        "_indexes",
        "_loading",
        "_preallocated",
        "_read_ends",
        "_recent_offsets",
        "_recent_positions",
        "_size",
        "base_offset",
        "created_ms",
        "disk",
        "first_timestamp",
        "jitter_ms",
        "log",
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
        #: The suffix of all file names: ``.deleted``, or ``.cleaned`` and ``.swap`` while compaction replaces segments.
        self.suffix = suffix
        self.log: File = disk.open(self.path(".log"))
        self._size = -1
        self._preallocated = False
        self._indexes: SegmentIndexes | None = None
        #: A cold read in a worker thread may load the indexes of a closed segment while the loop does, or while the loop
        #: renames its files.
        self._loading = Lock()
        self._aborted: AbortedIndex | None = None if has_aborted else AbortedIndex(disk, self.path(".txnindex"))
        self._recent_offsets = array("q")
        self._recent_positions = array("q")
        #: Where readers ended that go on: offset to position.
        self._read_ends: dict[int, int] | None = None
        self.created_ms = created_ms
        #: segment.jitter.ms: by this much earlier than segment.ms this segment rolls.
        self.jitter_ms = 0
        #: The largest timestamp of the first batch, from which segment.ms counts; -1 while unknown.
        self.first_timestamp = -1

    @classmethod
    def create(
        cls, disk: Disk, directory: str, base_offset: int, now_ms: int, suffix: str = "", *, file_bytes: int = 0
    ) -> Segment:
        """Create the files of a new segment, the .log last: without it the other files are ignored after a failure.

        ``file_bytes`` is the preallocated size of the .log (``preallocate``); zeros follow the batches then, until
        ``trim``.
        """
        segment = cls(disk, directory, base_offset, created_ms=now_ms, suffix=suffix)
        segment.begin_rebuild()
        disk.create(segment.path(".log"))
        segment._size = 0
        if file_bytes:
            try:
                segment.log.truncate(file_bytes)
            except OSError:
                disk.remove(segment.path(".log"))
                raise
            segment._preallocated = True
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
    def size_known(self) -> bool:
        """Whether ``size`` is known without accessing the disk."""
        return self._size >= 0

    @property
    def indexes(self) -> SegmentIndexes:
        """Both indexes, loaded on first use and rebuilt if missing or damaged."""
        if self._indexes is None:
            with self._loading:
                self._load_indexes()
        assert self._indexes is not None
        return self._indexes

    @property
    def indexes_loaded(self) -> bool:
        return self._indexes is not None

    @property
    def aborted(self) -> AbortedIndex:
        """The aborted transactions whose markers are in this segment."""
        if self._aborted is None:
            with self._loading:
                self._load_aborted()
        assert self._aborted is not None
        return self._aborted

    @property
    def may_have_aborted(self) -> bool:
        """Whether ``aborted`` may have entries; False for most segments, without accessing the disk."""
        return self._aborted is None or bool(self._aborted)

    @property
    def aborted_loaded(self) -> bool:
        return self._aborted is not None

    def _load_aborted(self) -> None:
        if self._aborted is None:
            path = self.path(".txnindex")
            self._aborted = AbortedIndex(self.disk, path, self.disk.size(path))

    def _load_indexes(self) -> None:
        if self._indexes is not None:
            return
        indexes = SegmentIndexes(self.disk, self.path(".index"), self.path(".timeindex"), self.base_offset)
        if indexes.load(self.size):
            self._indexes = indexes
        else:
            self.log.size()  # raises if the segment itself was removed: then there is nothing to rebuild
            self.rebuild_indexes()

    def largest_timestamp(self) -> tuple[int, int]:
        """(largest timestamp, last offset of its batch); (-1, -1) if no batch has a timestamp."""
        indexes = self.indexes
        return indexes.largest, indexes.largest_offset

    def first_batch_timestamp(self) -> int:
        """The largest timestamp of the first batch; -1 if it has none."""
        if self.first_timestamp < 0 and self.size:
            head = self.log.pread(HEADER_SIZE, 0)
            with contextlib.suppress(WireError):
                self.first_timestamp = read_batch_header(head).max_timestamp
        return self.first_timestamp

    def end(self) -> tuple[int, int]:
        """(offset after the last whole batch, its end in the file), found from the last index entry on."""
        last = self.indexes.by_offset.last
        offset, position = self.base_offset, last[1] if last else 0
        for at, header, _ in self.batches(position):
            offset, position = header.last_offset + 1, at + header.size
        return offset, position

    # -- appending ----------------------------------------------------------------------------------------------------

    def must_roll(self, size: int, last_offset: int, timestamp: int, now_ms: int, config: LogConfig) -> bool:
        """Whether a batch of ``size`` bytes needs a new segment: by size, age, full indexes, or offset range."""
        mine = self._size
        if mine > config.segment_bytes - size:
            return True
        if mine > 0:
            first = self.first_timestamp
            # By the records' timestamps if they have any, else by the clock.
            age = timestamp - first if first >= 0 and timestamp >= 0 else now_ms - self.created_ms
            if age > config.roll_ms - self.jitter_ms:
                return True
        indexes = self._indexes
        if indexes is None:
            indexes = self.indexes
        return indexes.full or last_offset - self.base_offset > _MAX_RELATIVE_OFFSET

    def append(self, data: Buffer, first_offset: int, last_offset: int, timestamp: int, config: LogConfig) -> None:
        """Write one batch at the end. After an error any part of it may be in the file: call ``take_back``."""
        indexes = self._indexes
        if indexes is None:
            indexes = self.indexes
        is_due = indexes.bytes_since_entry > config.index_interval_bytes
        if is_due:
            indexes.make_room()
        position = self._size
        self.log.pwrite(data, position)
        size = len(data)
        self._size = position + size
        if position == 0:
            self.first_timestamp = timestamp
        offsets = self._recent_offsets
        if len(offsets) >= 2 * _RECENT:
            del offsets[:_RECENT], self._recent_positions[:_RECENT]
        offsets.append(first_offset)
        self._recent_positions.append(position)
        if is_due:
            indexes.note(position, size, last_offset, timestamp, config)
            return
        indexes.bytes_since_entry += size  # ``note``, in place
        if timestamp > indexes.largest:
            indexes.largest, indexes.largest_offset = timestamp, last_offset

    def take_back(self, size: int) -> None:
        """Truncate the file to ``size`` bytes after a failed append."""
        self.log.truncate(size)
        self._size = size
        self._preallocated = False

    def trim(self) -> bool:
        """Cut the zeros of a preallocated file; returns whether there were any."""
        trimmed = self._preallocated
        if trimmed:
            self.take_back(self._size)
        return trimmed

    def finish(self) -> bool:
        """Complete the indexes, before another segment becomes active and at a clean shutdown. Returns whether anything was
        written.
        """
        return self._indexes is not None and self._indexes.finish()

    def retire(self) -> None:
        """The segment is no longer active: release memory whose content is in files."""
        del self._recent_offsets[:], self._recent_positions[:]

    def extend(self, data: Buffer, headers: list[BatchHeader], config: LogConfig) -> None:
        """Write batches at the end of a segment of a compaction, and index them."""
        position = self._size
        self.log.pwrite(data, position)
        for header in headers:
            self.index_batch(position, header, config)
            position += header.size
        self._size = position

    # -- finding ------------------------------------------------------------------------------------------------------

    def known_position(self, offset: int) -> int:
        """The position of the first batch that ends at ``offset`` or later, if it is the segment's first, one of the last, or where a
        reader ended; else -1. It may be that of the end.
        """
        if offset <= self.base_offset:
            return 0
        offsets = self._recent_offsets
        if offsets and offset >= offsets[0]:
            return self._recent_positions[bisect_right(offsets, offset) - 1]
        return self._read_ends.get(offset, -1) if self._read_ends is not None else -1

    def note_read(self, end_offset: int, position: int) -> None:
        """A reader has read to ``end_offset``, and what follows is at ``position``, where it may go on without the index. For the thread
        that owns the logs.
        """
        ends = self._read_ends
        if ends is None:
            ends = self._read_ends = {}
        elif len(ends) >= _READERS:
            del ends[next(iter(ends))]
        ends[end_offset] = position

    def read_on(self, offset: int, max_bytes: int, upper_offset: int) -> tuple[Buffer, int] | None:
        """Whole batches below ``upper_offset`` from the one that contains ``offset`` on, at most ``max_bytes``, and the offset after them;
        None where their place is not known, or they are not in memory, or the first is larger. Raises OSError.
        """
        position = self.known_position(offset)
        size = min(self._size - position, max_bytes)
        if position < 0 or size < HEADER_SIZE:
            return None
        data = self.log.pread_cached(size, position)
        if data is None:
            return None
        kept, after = batches.whole(data, upper_offset)
        if not kept:
            return None
        if position + kept < self._size:
            self.note_read(after, position + kept)
        return data if kept == size else memoryview(data)[:kept], after

    def read_rest(self, offset: int, max_bytes: int) -> Buffer | None:
        """Everything from the batch that contains ``offset`` on, if that is one of the last, and all of it is in memory and at most
        ``max_bytes``; else None. Raises OSError.
        """
        offsets = self._recent_offsets
        if not offsets or offset < offsets[0]:
            return None
        position = self._recent_positions[bisect_right(offsets, offset) - 1]
        size = self._size - position
        return None if size > max_bytes else self.log.pread_cached(size, position)

    def find(self, offset: int, end: int, read: Reader = read_blocking) -> int:
        """The position of the first batch that ends at ``offset`` or later, before ``end``; -1 if there is none."""
        return batches.find(self.log, offset, self.indexes.position_before(offset, read), end, read)

    def batches(
        self, position: int = 0, end: int | None = None, *, checked: bool = False
    ) -> Iterator[tuple[int, BatchHeader, Buffer]]:
        """The batches from ``position`` on, up to ``end`` or all (``batches.scan``)."""
        return batches.scan(self.log, position, self.size if end is None else end, checked=checked)

    def refuse_old_format(self) -> None:
        """Raises OldFormatError if the segment begins with a message of an old format, and OSError."""
        refuse_old_format(self.log, 0, self.size)

    # -- repair -------------------------------------------------------------------------------------------------------

    def begin_rebuild(self) -> None:
        """Empty both indexes, before all batches are indexed again with ``index_batch``."""
        self._indexes = SegmentIndexes.create(self.disk, self.path(".index"), self.path(".timeindex"), self.base_offset)
        self.retire()
        self._read_ends = None

    def index_batch(self, position: int, header: BatchHeader, config: LogConfig) -> None:
        """Index a batch that is already in the file, as ``append`` does for a new one."""
        if position == 0:
            self.first_timestamp = header.max_timestamp
        indexes = self.indexes
        if indexes.bytes_since_entry > config.index_interval_bytes:
            indexes.make_room()
        indexes.note(position, header.size, header.last_offset, header.max_timestamp, config)

    def rebuild_indexes(self) -> None:
        """Rebuild both indexes from the batches and sync them, since the next load trusts them."""
        self.begin_rebuild()
        for position, header, _ in self.batches():
            self.index_batch(position, header, _DEFAULTS)
        self.finish()
        self.indexes.sync()
        self.disk.sync_directory(self.stem.rpartition("/")[0])

    def truncate(self, offset: int) -> None:
        """Drop the batches that end at ``offset`` or later."""
        position = self.find(offset, self.size)
        if position >= 0:
            self.take_back(position)
        self.indexes.truncate(offset)
        self.aborted.truncate(offset)
        self.retire()
        self._read_ends = None
        if self._size == 0:
            self.first_timestamp = -1
        # The largest timestamp may be after the last entry.
        indexes = self.indexes
        for _, header, _ in self.batches(indexes.position_before(indexes.largest_offset)):
            if header.max_timestamp > indexes.largest:
                indexes.largest, indexes.largest_offset = header.max_timestamp, header.last_offset

    # -- files --------------------------------------------------------------------------------------------------------

    def paths(self) -> list[str]:
        """Names of the files that the segment may have."""
        return [self.path(kind) for kind in SEGMENT_SUFFIXES]

    def sync(self) -> None:
        """Sync every file."""
        self.log.sync()
        self.indexes.sync()
        if self.aborted:
            self.aborted.file.sync()

    def rename(self, suffix: str) -> None:
        """Rename every file to another suffix; open descriptors stay valid. The .log is renamed first to ``.deleted``, else
        last: so a crash leaves either a complete segment or files without a .log, which are ignored.

        Readers in other threads continue meanwhile: they use files under the old or the new name, and load further ones
        only after all are renamed.
        """
        log, *others = SEGMENT_SUFFIXES
        with self._loading:
            before = dict(zip(SEGMENT_SUFFIXES, self.paths(), strict=True))
            used = self._files()
            self.suffix = suffix
            for kind in (log, *others) if suffix == DELETED else (*others, log):
                file, path = used.get(kind), self.path(kind)
                try:
                    file.rename(path) if file is not None else self.disk.rename(before[kind], path)
                except FileNotFoundError:
                    if file is not None:
                        file.path = path

    def moved(self, directory: str) -> None:
        """The directory was renamed; open descriptors stay valid."""
        with self._loading:
            self.stem = f"{directory}/{segment_name(self.base_offset)}"
            for kind, file in self._files().items():
                file.path = self.path(kind)

    def _files(self) -> dict[str, File]:
        """The loaded files, by kind."""
        files = {".log": self.log}
        if self._indexes is not None:
            files |= {".index": self._indexes.by_offset.file, ".timeindex": self._indexes.by_time.file}
        if self._aborted is not None:
            files[".txnindex"] = self._aborted.file
        return files

    def close(self) -> None:
        """Close the descriptors."""
        self.log.close()
        if self._indexes is not None:
            self._indexes.close()
        if self._aborted is not None:
            self._aborted.file.close()
