"""Divides ranges of offsets into tasks: large ones at batch boundaries; small segments share a task.

Each task costs PySpark up to 0.2 seconds, whatever it reads, so tasks are few and large.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from pyspark.sql.datasource import InputPartition

from pykbroker.lake.direct.batches import Piece
from pykbroker.lake.direct.log_files import LogFiles, offset_behind, segment_of

TASK_BYTES = 64 << 20
"""About how much of the files a task reads, unless more tasks are requested."""


def divided(whole: Sequence[Piece], min_partitions: int) -> list[InputPartition]:
    """The tasks for these ranges, at least about ``min_partitions``. Empty ranges are left out."""
    wanted = [piece for piece in whole if piece.start < piece.until]
    size = sum(size for piece in wanted for _, size in _sizes(piece))
    task_bytes = max(1, min(TASK_BYTES, size // min_partitions))
    return [part for piece in wanted for part in _parts(piece, task_bytes)]


def _parts(piece: Piece, task_bytes: int) -> Iterator[Piece]:
    limits = [piece.start]
    begun = 0
    for offset, before in _marks(piece, task_bytes):
        if offset <= piece.start:
            begun = before
        elif offset < piece.until and before - begun >= task_bytes and offset > limits[-1]:
            limits.append(offset)
            begun = before
    return (Piece(piece.log, start, until) for start, until in pairwise([*limits, piece.until]))


def _marks(piece: Piece, every: int) -> Iterator[tuple[int, int]]:
    """Offsets at which a task may begin, each with the number of bytes before it: segment starts, and steps within segments."""
    before = 0
    for segment, size in _sizes(piece):
        for position in range(0, size, every):
            yield offset_behind(piece.log, segment, position), before + position
        before += size


def _sizes(piece: Piece) -> Iterator[tuple[int, int]]:
    """The segments that overlap the range, and their sizes in bytes; 0 for one that is removed meanwhile."""
    segments = piece.log.segments()
    first = segment_of(segments, piece.start)
    for segment in segments:
        if segment < piece.until and (first is None or segment >= first):
            yield segment, _size(piece.log, segment)


def _size(log: LogFiles, segment: int) -> int:
    try:
        return log.file(segment, ".log").stat().st_size
    except FileNotFoundError:
        return 0
