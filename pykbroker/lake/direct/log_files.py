"""Read-only access to a broker's log directories: partitions, topic ids, segments, indexes, high watermarks.

The broker may be running. So nothing here keeps a list of files for long, an index may have zeros after its entries (Kafka
preallocates the active segment's index), and nothing above the checkpointed high watermark is read.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from struct import Struct
from typing import BinaryIO

from pykbroker.lake.errors import DataLost, LakeError, Missing
from pykbroker.lake.ledger import LakePartition
from pykbroker.storage.checkpoints import (
    HIGH_WATERMARKS,
    LOG_STARTS,
    META_PROPERTIES,
    PARTITION_METADATA,
    CorruptCheckpointError,
    decode_offsets,
    decode_partition_metadata,
)
from pykbroker.storage.names import PARTITION, put_aside_as
from pykbroker.wire.batch_header import HEADER_SIZE, BatchHeader, read_batch_header
from pykbroker.wire.errors import WireError
from pykbroker.wire.primitives import uuid_to_str

_SEGMENT = re.compile(r"\d{20}\.log")
_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")


class RecreatedTopic(DataLost):
    """The topic was deleted and created again under the same name."""


@dataclass(frozen=True, slots=True)
class LogFiles:
    """A partition's directory. ``start`` is the log start offset.

    ``topic_id`` is None if the directory does not say: Kafka before 2.8 has no topic ids, and a power loss may tear the file.
    """

    place: LakePartition
    path: str
    start: int
    high_watermark: int
    topic_id: str | None = None

    def segments(self) -> list[int]:
        """The base offsets of the present segments, in order; empty if the partition was deleted."""
        try:
            return sorted(int(path.stem) for path in Path(self.path).iterdir() if _SEGMENT.fullmatch(path.name))
        except FileNotFoundError:
            return []

    def file(self, base_offset: int, suffix: str) -> Path:
        return Path(self.path) / f"{base_offset:020d}{suffix}"

    @contextmanager
    def opened(self, base_offset: int) -> Iterator[BinaryIO]:
        """The segment's .log file. Raises FileNotFoundError if it was removed, MadeAnew if it is another topic's.

        A broker writes partition.metadata before the first record, so the id is read after the file is opened.
        """
        with self.file(base_offset, ".log").open("rb") as file:
            found = read_topic_id(Path(self.path))
            if None not in (found, self.topic_id) and found != self.topic_id:
                raise RecreatedTopic(
                    f"{self.place} has the topic id {found} now, and {self.topic_id} when the query was planned: the topic was "
                    "deleted and made anew. Start the query again to read the new topic."
                )
            yield file


def find_logs(directories: Iterable[str]) -> dict[LakePartition, LogFiles]:
    """The partitions in these log directories. Raises Missing for a directory that is no broker's, LakeError for a corrupt
    checkpoint or a directory that cannot be read.
    """
    found: dict[LakePartition, LogFiles] = {}
    for directory in directories:
        try:
            found |= {log.place: log for log in _logs_in(Path(directory))}
        except OSError as error:
            raise LakeError(f"{error.filename} cannot be read: {error.strerror}.") from None
    return found


def _logs_in(root: Path) -> Iterator[LogFiles]:
    if not root.is_dir():
        raise Missing(f"There is no folder {root}.")
    if not (root / META_PROPERTIES).is_file():
        raise Missing(f"{root} is no log directory of a broker: it has no {META_PROPERTIES}.")
    watermarks, starts = (_offsets(root / name) for name in (HIGH_WATERMARKS, LOG_STARTS))
    for path in root.iterdir():
        match = PARTITION.fullmatch(path.name)
        if match is None or put_aside_as(path.name) is not None or not path.is_dir():
            continue
        place = LakePartition(match["topic"], int(match["index"]))
        log = LogFiles(place, str(path), starts.get(place, 0), watermarks.get(place, 0), read_topic_id(path))
        first = next(iter(log.segments()), 0)
        yield replace(log, start=max(log.start, first))


def read_topic_id(partition: Path) -> str | None:
    """The topic id in a partition's directory, as Kafka prints it; None if there is none or it cannot be read."""
    try:
        return uuid_to_str(decode_partition_metadata((partition / PARTITION_METADATA).read_bytes()))
    except (FileNotFoundError, CorruptCheckpointError):
        return None


def _offsets(path: Path) -> dict[LakePartition, int]:
    """An offset checkpoint. A broker replaces it as a whole, so it is either complete or absent."""
    try:
        return {LakePartition(*place): offset for place, offset in decode_offsets(path.read_bytes()).items()}
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise LakeError(f"{path} cannot be read: {error}.") from None


def segment_of(segments: list[int], offset: int) -> int | None:
    """The segment whose range includes the offset; None if the offset precedes all segments."""
    number = bisect_right(segments, offset) - 1
    return segments[number] if number >= 0 else None


def position_of(log: LogFiles, segment: int, offset: int) -> int:
    """A position in the .log file at or before the batch with this offset, from the index; 0 without an index."""
    entries = _Index(log.file(segment, ".index"), _OFFSET_ENTRY, zero_column=1)
    number = bisect_right(entries, offset - segment, key=lambda entry: entry[0]) - 1
    position = entries[number][1] if number >= 0 else 0
    return position if position < log.file(segment, ".log").stat().st_size else 0


def offset_behind(log: LogFiles, segment: int, position: int) -> int:
    """The base offset of a batch that begins near this position in the .log file, from the index."""
    entries = _Index(log.file(segment, ".index"), _OFFSET_ENTRY, zero_column=1)
    number = bisect_right(entries, position, key=lambda entry: entry[1]) - 1
    return segment + (entries[number][0] + 1 if number >= 0 else 0)


def last_timestamp(log: LogFiles, segment: int) -> int | None:
    """The largest timestamp of a closed segment; None if its time index is empty or missing."""
    entries = _Index(log.file(segment, ".timeindex"), _TIME_ENTRY, zero_column=0)
    return entries[len(entries) - 1][0] if entries else None


def offset_before(log: LogFiles, segment: int, timestamp_ms: int) -> int:
    """An offset at or before the segment's first record with this timestamp or a later one."""
    entries = _Index(log.file(segment, ".timeindex"), _TIME_ENTRY, zero_column=0)
    number = bisect_right(entries, timestamp_ms, key=lambda entry: entry[0]) - 1
    return segment + (entries[number][1] if number >= 0 else 0)


class _Index:
    """The entries of an index file, without the zeros that follow them in the active segment's index: Kafka preallocates 10 MB."""

    def __init__(self, path: Path, entry: Struct, *, zero_column: int) -> None:
        self._entry = entry
        self._data = b""
        with suppress(FileNotFoundError), path.open("rb") as file:

            def is_zero(number: int) -> bool:
                data = os.pread(file.fileno(), entry.size, number * entry.size)
                trimmed = len(data) < entry.size  # meanwhile, as the broker does when it rolls the segment
                return trimmed or entry.unpack(data)[zero_column] <= 0

            count = os.fstat(file.fileno()).st_size // entry.size
            used = bisect_left(range(count), True, key=is_zero)
            self._data = os.pread(file.fileno(), used * entry.size, 0)

    def __len__(self) -> int:
        return len(self._data) // self._entry.size

    def __getitem__(self, number: int) -> tuple[int, ...]:
        return self._entry.unpack_from(self._data, number * self._entry.size)


def as_readable(log: LogFiles) -> LogFiles:
    """The log with offsets that its files confirm: the high watermark is at most the log end offset.

    For some seconds after a topic was made anew, Kafka's checkpoint has the high watermark of the old one. Raises LakeError for a
    damaged batch.
    """
    segments = log.segments()
    end = _end(log, segments[-1]) if segments else log.start
    return replace(log, high_watermark=min(max(log.high_watermark, log.start), end))


def _end(log: LogFiles, last: int) -> int:
    """The log end offset, or the high watermark if that is lower. ``last`` is the last segment."""
    with suppress(FileNotFoundError), log.opened(last) as file:
        size = os.fstat(file.fileno()).st_size
        for begin in (
            position_of(log, last, log.high_watermark - 1),
            0,
        ):  # the index may name a batch that is incomplete
            found = _headers(log, last, file.fileno(), begin, (last, log.high_watermark))
            if complete := [header for _, position, header in found if position + header.size <= size]:
                return complete[-1].last_offset + 1
    return last


def headers_from(log: LogFiles, offset: int, until: int) -> Iterator[tuple[int, int, BatchHeader]]:
    """Segment, position and header of each batch that has offsets from ``offset`` to before ``until``.

    A segment that is removed meanwhile is skipped: all of it has expired. Raises LakeError for a damaged batch, MadeAnew.
    """
    segments = log.segments()
    first = segment_of(segments, offset)
    for segment in segments:
        if segment >= until or (first is not None and segment < first):
            continue
        with suppress(FileNotFoundError):
            position = position_of(log, segment, offset) if segment == first else 0
            with log.opened(segment) as file:
                yield from _headers(log, segment, file.fileno(), position, (offset, until))


def _headers(
    log: LogFiles, segment: int, descriptor: int, position: int, wanted: tuple[int, int]
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
            return  # the next batch may be incomplete: the broker is writing it
        position += header.size
