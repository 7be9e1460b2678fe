"""The batches of a range of offsets, out of the segments that have it by now, each checked before it is handed on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from pyspark.sql.datasource import InputPartition

from pykbroker.lake.direct.log_files import Log, position_of, segment_of
from pykbroker.lake.direct.transactions import Aborted
from pykbroker.lake.trouble import DataLost, LakeError
from pykbroker.wire.batch_header import HEADER_SIZE, LOG_OVERHEAD, BatchHeader, batch_crc_ok, read_batch_header
from pykbroker.wire.compression import decompress
from pykbroker.wire.errors import WireError

_READ_BYTES = 4 << 20
_LENGTH_AT = 8
_USUAL_RATIO = 8
"""Few batches hold more than so many times their size; room for those that do is made when one is met."""


class Piece(InputPartition):
    """Offsets from ``start`` to before ``until`` of one partition."""

    def __init__(self, log: Log, start: int, until: int) -> None:
        super().__init__(None)
        self.log = log
        self.start = start
        self.until = until


class Batch(NamedTuple):
    """One batch, and where it lies."""

    header: BatchHeader
    data: memoryview
    log: Log
    segment: int

    def records(self) -> bytes:
        """Decompressed. Raises LakeError."""
        try:
            codec, packed = self.header.compression, self.data[HEADER_SIZE:]
            try:
                return decompress(codec, packed, len(packed) * _USUAL_RATIO)
            except WireError:  # larger than usual, or damaged
                return decompress(codec, packed)
        except WireError as error:
            raise self.trouble(error) from None

    def trouble(self, what: object) -> LakeError:
        """An error that names the batch and its file."""
        file = self.log.file(self.segment, ".log")
        return LakeError(f"{self.log.place}: the batch at offset {self.header.base_offset} in {file}: {what}.")


def batches(piece: Piece, *, committed: bool, fail_on_data_loss: bool) -> Iterator[Batch]:
    """Every batch of the range, without markers, and without what was aborted where only what is ``committed`` is wanted. Segments are
    looked up one after the other: meanwhile retention and compaction may have taken some away, or put several in the place of one.
    """
    log, offset = piece.log, piece.start
    aborted = Aborted(log, piece.start, piece.until) if committed else None
    while offset < piece.until:
        segments = log.segments()
        segment = segment_of(segments, offset)
        if segment is None:
            kept = min(segments[0] if segments else piece.until, piece.until)
            if fail_on_data_loss:
                raise _lost(log, offset, kept)
            offset = kept
            continue
        following = segments[segments.index(segment) + 1 :]
        try:
            for batch in _of_segment(log, segment, offset):
                header = batch.header
                if header.base_offset >= piece.until:
                    return
                offset = header.last_offset + 1
                if not header.is_control and (aborted is None or not aborted.has(header)):
                    if not batch_crc_ok(batch.data, 0, len(batch.data)):
                        raise batch.trouble("it is damaged: its checksum does not fit")
                    yield batch
                if offset >= piece.until:
                    return  # what follows may be in the middle of being written
        except FileNotFoundError:
            continue
        if not following:
            return
        offset = max(offset, following[0])


def _lost(log: Log, offset: int, kept: int) -> DataLost:
    return DataLost(
        f"{log.place}: the offsets {offset} to {kept - 1} are no longer in {log.path}. Read from where it begins now, "
        "or set failOnDataLoss to false to go on with what is left."
    )


def _of_segment(log: Log, segment: int, offset: int) -> Iterator[Batch]:
    """The segment's whole batches from that with ``offset`` on."""
    position = position_of(log, segment, offset)
    with log.file(segment, ".log").open("rb") as file:
        wanted = _READ_BYTES
        while len(data := os.pread(file.fileno(), wanted, position)) >= HEADER_SIZE:
            view = memoryview(data)
            at = 0
            while at + HEADER_SIZE <= len(data):
                header = _header(log, segment, data, at, position)
                after = at + header.size
                if after > len(data):
                    break
                if header.last_offset >= offset:
                    yield Batch(header, view[at:after], log, segment)
                at = after
            if at == 0 and len(data) < wanted:
                return  # the last batch is being written
            wanted = max(_READ_BYTES, 0 if at else LOG_OVERHEAD + int.from_bytes(data[_LENGTH_AT:LOG_OVERHEAD], "big"))
            position += at


def _header(log: Log, segment: int, data: bytes, at: int, position: int) -> BatchHeader:
    try:
        return read_batch_header(data, at)
    except WireError as error:
        raise LakeError(f"{log.place}: {log.file(segment, '.log')} at {position + at}: {error}.") from None
