"""What lies in a broker's log directories, for somebody who only reads: partitions, segments, their indexes, what is committed.

The broker may be running. So nothing here keeps a list of files for long, an index may have zeros behind its entries (Kafka
allocates that of the active segment beforehand), and what the broker has not noted as committed is not looked at.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

from pykbroker.lake.ledger import Place
from pykbroker.lake.trouble import LakeError, Missing
from pykbroker.storage.checkpoints import HIGH_WATERMARKS, LOG_STARTS, META_PROPERTIES, decode_offsets
from pykbroker.storage.names import PARTITION, put_aside_as
from pykbroker.wire.batch_header import HEADER_SIZE, BatchHeader, read_batch_header
from pykbroker.wire.errors import WireError

_SEGMENT = re.compile(r"\d{20}\.log")
_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")


@dataclass(frozen=True, slots=True)
class Log:
    """A partition's directory. Offsets from ``start`` to before ``high_watermark`` are there and committed."""

    place: Place
    path: str
    start: int
    high_watermark: int

    def segments(self) -> list[int]:
        """The base offsets of its segments as they are now, in order. Empty where the partition is gone."""
        try:
            return sorted(int(path.stem) for path in Path(self.path).iterdir() if _SEGMENT.fullmatch(path.name))
        except FileNotFoundError:
            return []

    def file(self, base_offset: int, suffix: str) -> Path:
        return Path(self.path) / f"{base_offset:020d}{suffix}"


def find_logs(directories: Iterable[str]) -> dict[Place, Log]:
    """The partitions in these log directories. Raises LakeError for a directory that is no broker's."""
    found: dict[Place, Log] = {}
    for directory in directories:
        root = Path(directory)
        if not (root / META_PROPERTIES).is_file():
            raise Missing(f"{directory} is no log directory of a broker: it has no {META_PROPERTIES}.")
        watermarks, starts = (_offsets(root / name) for name in (HIGH_WATERMARKS, LOG_STARTS))
        for path in root.iterdir():
            match = PARTITION.fullmatch(path.name)
            if match is None or put_aside_as(path.name) is not None or not path.is_dir():
                continue
            place = Place(match["topic"], int(match["index"]))
            log = Log(place, str(path), starts.get(place, 0), watermarks.get(place, 0))
            first = next(iter(log.segments()), 0)
            found[place] = Log(place, log.path, max(log.start, first), log.high_watermark)
    return found


def _offsets(path: Path) -> dict[Place, int]:
    """A checkpoint of the directory. It is replaced as a whole, so it is either there or not."""
    try:
        return {Place(*place): offset for place, offset in decode_offsets(path.read_bytes()).items()}
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise LakeError(f"{path} cannot be read: {error}") from None


def segment_of(segments: list[int], offset: int) -> int | None:
    """Which of the segments has this offset or what follows it; None where it lies before the first."""
    number = bisect_right(segments, offset) - 1
    return segments[number] if number >= 0 else None


def position_of(log: Log, segment: int, offset: int) -> int:
    """A position in the .log file at or before the batch with this offset, from the index; 0 where there is none."""
    entries = _Index(log.file(segment, ".index"), _OFFSET_ENTRY, zero_column=1)
    number = bisect_right(entries, offset - segment, key=lambda entry: entry[0]) - 1
    position = entries[number][1] if number >= 0 else 0
    return position if position < log.file(segment, ".log").stat().st_size else 0


def offset_behind(log: Log, segment: int, position: int) -> int:
    """An offset at which a batch begins, not far from this position in the .log file; of two that are as near, the one before."""
    entries = _Index(log.file(segment, ".index"), _OFFSET_ENTRY, zero_column=1)
    number = bisect_right(entries, position, key=lambda entry: entry[1]) - 1
    return segment + (entries[number][0] + 1 if number >= 0 else 0)


def last_timestamp(log: Log, segment: int) -> int | None:
    """The largest timestamp of a closed segment; None where its index does not say."""
    entries = _Index(log.file(segment, ".timeindex"), _TIME_ENTRY, zero_column=0)
    return entries[len(entries) - 1][0] if entries else None


def offset_before(log: Log, segment: int, timestamp_ms: int) -> int:
    """An offset of the segment at or before its first record with this timestamp or a later one."""
    entries = _Index(log.file(segment, ".timeindex"), _TIME_ENTRY, zero_column=0)
    number = bisect_right(entries, timestamp_ms, key=lambda entry: entry[0]) - 1
    return segment + (entries[number][1] if number >= 0 else 0)


class _Index:
    """The entries of an index, up to the zeros of one that is not full yet. Those that a search looks at are read, no others."""

    def __init__(self, path: Path, entry: Struct, *, zero_column: int) -> None:
        try:
            self._data = path.read_bytes()
        except FileNotFoundError:
            self._data = b""
        self._entry = entry
        self._count = len(self._data) // entry.size
        self._count = bisect_left(self, True, key=lambda each: each[zero_column] <= 0)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> tuple[int, ...]:
        return self._entry.unpack_from(self._data, number * self._entry.size)


def headers_from(log: Log, offset: int, until: int) -> Iterator[tuple[int, int, BatchHeader]]:
    """Segment, position and header of each batch that has offsets from ``offset`` to before ``until``."""
    segments = log.segments()
    first = segment_of(segments, offset)
    for segment in segments:
        if segment >= until or (first is not None and segment < first):
            continue
        position = position_of(log, segment, offset) if segment == first else 0
        with log.file(segment, ".log").open("rb") as file:
            yield from _headers(log, segment, file.fileno(), position, (offset, until))


def _headers(
    log: Log, segment: int, descriptor: int, position: int, wanted: tuple[int, int]
) -> Iterator[tuple[int, int, BatchHeader]]:
    while len(data := os.pread(descriptor, HEADER_SIZE, position)) == HEADER_SIZE:
        try:
            header = read_batch_header(data)
        except WireError as error:
            raise LakeError(f"{log.place}: {log.file(segment, '.log')} at {position}: {error}.") from None
        if header.base_offset >= wanted[1]:
            return
        if header.last_offset >= wanted[0]:
            yield segment, position, header
        if header.last_offset >= wanted[1] - 1:
            return  # what follows may be in the middle of being written
        position += header.size
