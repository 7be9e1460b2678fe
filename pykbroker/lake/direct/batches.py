"""The batches of a range of offsets, from the segments that have them now. The CRC of each is checked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from pyspark.sql.datasource import InputPartition

from pykbroker.lake.direct.log_files import LogFiles, RecreatedTopic, position_of, segment_of
from pykbroker.lake.direct.transactions import Aborted
from pykbroker.lake.errors import DataLost, LakeError
from pykbroker.wire.batch_header import HEADER_SIZE, LOG_OVERHEAD, BatchHeader, batch_crc_ok, read_batch_header
from pykbroker.wire.compression import decompress
from pykbroker.wire.errors import WireError

_READ_BYTES = 4 << 20
_LENGTH_AT = 8
_USUAL_RATIO = 8
"""Few batches decompress to more than this many times their size. Those that do are decompressed again, into more memory."""


class Piece(InputPartition):
    """The offsets of one partition from ``start`` up to, not including, ``until``."""

    def __init__(self, log: LogFiles, start: int, until: int) -> None:
        super().__init__(None)
        self.log = log
        self.start = start
        self.until = until


class StoredBatch(NamedTuple):
    """One batch, and its place."""

    header: BatchHeader
    data: memoryview
    log: LogFiles
    segment: int

    def records(self) -> bytes:
        """The decompressed records. Raises LakeError if they cannot be decompressed."""
        try:
            codec, packed = self.header.compression, self.data[HEADER_SIZE:]
            try:
                return decompress(codec, packed, len(packed) * _USUAL_RATIO)
            except WireError:  # it is larger than usual, or damaged
                return decompress(codec, packed)
        except WireError as error:
            raise self.trouble(error) from None

    def trouble(self, what: object) -> LakeError:
        """An error that names the partition, the batch and its file."""
        file = self.log.file(self.segment, ".log")
        return LakeError(f"{self.log.place}: the batch at offset {self.header.base_offset} in {file}: {what}.")


def batches(piece: Piece, *, committed: bool, fail_on_data_loss: bool) -> Iterator[StoredBatch]:
    """Every batch of the range except transaction markers and, with ``committed``, batches of aborted transactions.

    Raises LakeError for a damaged batch. Raises DataLost for offsets that are gone, and MadeAnew for a topic that was made anew,
    unless ``fail_on_data_loss`` is False: then the batches that are left follow, none of them of another topic. Each segment is looked up when
    it is its turn, since retention may have removed segments and compaction may have merged some.
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
                    return  # the next batch may be incomplete: the broker is writing it
        except FileNotFoundError:
            continue
        except RecreatedTopic:
            if fail_on_data_loss:
                raise
            return
        if not following and fail_on_data_loss:
            raise _lost(log, offset, piece.until)
        offset = max(offset, following[0]) if following else piece.until


def _lost(log: LogFiles, offset: int, kept: int) -> DataLost:
    return DataLost(
        f"{log.place}: the offsets {offset} to {kept - 1} are no longer in {log.path}. Read from its first offset, "
        "or set failOnDataLoss to false to continue with what is left."
    )


def _of_segment(log: LogFiles, segment: int, offset: int) -> Iterator[StoredBatch]:
    """The segment's complete batches, from the one with ``offset``."""
    position = position_of(log, segment, offset)
    with log.opened(segment) as file:
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
                    yield StoredBatch(header, view[at:after], log, segment)
                at = after
            if at == 0 and len(data) < wanted:
                return  # the last batch is incomplete: the broker is writing it
            wanted = max(_READ_BYTES, 0 if at else LOG_OVERHEAD + int.from_bytes(data[_LENGTH_AT:LOG_OVERHEAD], "big"))
            position += at


def _header(log: LogFiles, segment: int, data: bytes, at: int, position: int) -> BatchHeader:
    try:
        return read_batch_header(data, at)
    except WireError as error:
        raise LakeError(f"{log.place}: {log.file(segment, '.log')} at {position + at}: {error}.") from None
