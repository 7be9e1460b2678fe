"""The last stable offset of a log and its aborted transactions (KIP-98), from the log's files."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from pykbroker.lake.direct.log_files import LogFiles, headers_from, segment_of
from pykbroker.storage.log.producers import CorruptSnapshotError, Producers
from pykbroker.wire.batch_header import BatchHeader

_SNAPSHOT = re.compile(r"\d{20}\.snapshot")
_ABORTED = Struct(">hqqqq")


def last_stable_offset(log: LogFiles) -> int:
    """The first offset of the oldest transaction that is open at the high watermark; the high watermark if none is.

    The newest producer snapshot has the transactions that were open when it was taken; the headers of later batches tell the rest. Raises
    LakeError for a damaged batch.
    """
    offset, still_open = _newest_snapshot(log)
    for _, _, header in headers_from(log, max(offset, log.start), log.high_watermark):
        if header.is_control:
            still_open.pop(header.producer_id, None)
        elif header.is_transactional:
            still_open.setdefault(header.producer_id, header.base_offset)
    return min(still_open.values(), default=log.high_watermark)


def _newest_snapshot(log: LogFiles) -> tuple[int, dict[int, int]]:
    """Its offset and, by producer id, the first offsets of the transactions that were open."""
    offsets = [int(path.stem) for path in Path(log.path).glob("*.snapshot") if _SNAPSHOT.fullmatch(path.name)]
    for offset in sorted((offset for offset in offsets if offset <= log.high_watermark), reverse=True):
        producers = Producers()
        try:
            producers.decode(log.file(offset, ".snapshot").read_bytes(), offset)
        except (FileNotFoundError, CorruptSnapshotError):
            continue
        return offset, {producer_id: first for first, producer_id in producers.open_txns.items()}
    return log.start, {}


class _Aborted(NamedTuple):
    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class Aborted:
    """The aborted transactions with records in a range of offsets."""

    def __init__(self, log: LogFiles, start: int, until: int) -> None:
        self._ranges: dict[int, list[tuple[int, int]]] = {}
        for each in sorted(_collected(log, start, until), key=lambda each: each.first_offset):
            self._ranges.setdefault(each.producer_id, []).append((each.first_offset, each.last_offset))

    def has(self, header: BatchHeader) -> bool:
        """Whether the transaction of a batch was aborted."""
        ranges = self._ranges.get(header.producer_id)
        if ranges is None or not header.is_transactional:
            return False
        number = bisect_right(ranges, header.base_offset, key=lambda limits: limits[0]) - 1
        return number >= 0 and header.base_offset <= ranges[number][1]


def _collected(log: LogFiles, start: int, until: int) -> Iterator[_Aborted]:
    """Those whose markers are at or after ``start``, from the transaction indexes of the segments that may name them."""
    segments = log.segments()
    first = segment_of(segments, start)
    for segment in segments:
        if first is not None and segment < first:
            continue
        try:
            data = log.file(segment, ".txnindex").read_bytes()
        except FileNotFoundError:
            continue
        for each in map(_Aborted._make, _ABORTED.iter_unpack(data[: len(data) // _ABORTED.size * _ABORTED.size])):
            if each.first_offset < until and each.last_offset >= start:
                yield each
            if each.last_stable_offset >= until:
                return
