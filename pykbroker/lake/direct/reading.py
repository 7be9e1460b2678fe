"""One task of the direct source: a range of a partition's offsets, out of the segments that have it by now, as Arrow batches."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from pykbroker.lake.direct.decoding import Decoded, decode
from pykbroker.lake.direct.log_files import Log, position_of, segment_of
from pykbroker.lake.direct.transactions import Aborted
from pykbroker.lake.trouble import DataLost, LakeError
from pykbroker.wire.batch_header import HEADER_SIZE, LOG_OVERHEAD, BatchHeader, batch_crc_ok, read_batch_header
from pykbroker.wire.compression import decompress
from pykbroker.wire.errors import WireError

_READ_BYTES = 4 << 20
_CHUNK_BYTES = 16 << 20
"""So much of decompressed records is decoded together."""
_LENGTH_AT = 8

Batch = tuple[BatchHeader, bytes]


@dataclass(frozen=True, slots=True)
class Manner:
    """How records are read, as options say it."""

    headers: bool = False
    committed: bool = False
    newest_of_key: bool = False
    fail_on_data_loss: bool = True


class Piece(InputPartition):
    """Offsets from ``start`` to before ``until`` of one partition."""

    def __init__(self, log: Log, start: int, until: int) -> None:
        super().__init__(None)
        self.log = log
        self.start = start
        self.until = until


def read_piece(piece: Piece, manner: Manner) -> Iterator[pa.RecordBatch]:
    """Raises LakeError, which names partition and offset, for what is damaged or gone."""
    newest: dict[bytes | None, int] | None = None
    if manner.newest_of_key:
        newest = {}
        for decoded in _decoded(piece, manner):
            newest.update(zip(decoded.keys.to_pylist(), decoded.offsets.tolist(), strict=True))
        newest.pop(None, None)
    for decoded in _decoded(piece, manner):
        rows = _rows(piece, decoded, headers=manner.headers)
        rows = _within(rows, decoded, piece)
        if newest is not None:
            rows = _not_superseded(rows, newest)
        if rows.num_rows:
            yield rows


def _within(rows: pa.RecordBatch, decoded: Decoded, piece: Piece) -> pa.RecordBatch:
    """Without what of the first batch lies before the range, and of the last behind it."""
    first, end = (int(np.searchsorted(decoded.offsets, limit)) for limit in (piece.start, piece.until))
    return rows.slice(first, end - first)


def _not_superseded(rows: pa.RecordBatch, newest: dict[bytes | None, int]) -> pa.RecordBatch:
    keys, offsets = rows.column("key").to_pylist(), rows.column("offset").to_pylist()
    return rows.filter(pa.array([newest.get(key, offset) == offset for key, offset in zip(keys, offsets, strict=True)]))


def _decoded(piece: Piece, manner: Manner) -> Iterator[Decoded]:
    aborted = Aborted(piece.log, piece.start, piece.until) if manner.committed else None
    chunk: list[Batch] = []
    size = 0
    for header, payload in _batches(piece, aborted, fail_on_data_loss=manner.fail_on_data_loss):
        chunk.append((header, payload))
        size += len(payload)
        if size >= _CHUNK_BYTES:
            yield _decode(piece.log, chunk, manner)
            chunk, size = [], 0
    if chunk:
        yield _decode(piece.log, chunk, manner)


def _decode(log: Log, chunk: list[Batch], manner: Manner) -> Decoded:
    try:
        return decode(chunk, headers=manner.headers)
    except WireError as error:
        first, last = chunk[0][0].base_offset, chunk[-1][0].last_offset
        raise LakeError(f"{log.place}, offsets {first} to {last}: {error}.") from None


def _batches(piece: Piece, aborted: Aborted | None, *, fail_on_data_loss: bool) -> Iterator[Batch]:
    """Every batch of the range with its records decompressed. Segments are looked up one after the other: meanwhile retention
    and compaction may have taken some away, or put several in the place of one.
    """
    log, offset = piece.log, piece.start
    while offset < piece.until:
        segments = log.segments()
        segment = segment_of(segments, offset)
        if segment is None:
            kept = min(segments[0] if segments else piece.until, piece.until)
            if fail_on_data_loss:
                raise DataLost(
                    f"{log.place}: the offsets {offset} to {kept - 1} are no longer in {log.path}. Read from where it begins now, "
                    "or set failOnDataLoss to false to go on with what is left."
                )
            offset = kept
            continue
        following = segments[segments.index(segment) + 1 :]
        try:
            for header, data in _of_segment(log, segment, offset):
                if header.base_offset >= piece.until:
                    return
                offset = header.last_offset + 1
                if not header.is_control and (aborted is None or not aborted.has(header)):
                    yield header, _plain(log, header, data)
                if offset >= piece.until:
                    return  # what follows may be in the middle of being written
        except FileNotFoundError:
            continue
        if not following:
            return
        offset = max(offset, following[0])


def _of_segment(log: Log, segment: int, offset: int) -> Iterator[tuple[BatchHeader, memoryview]]:
    """The segment's whole batches from that with ``offset`` on."""
    position = position_of(log, segment, offset)
    with log.file(segment, ".log").open("rb") as file:
        wanted = _READ_BYTES
        while len(data := os.pread(file.fileno(), wanted, position)) >= HEADER_SIZE:
            view = memoryview(data)
            at = 0
            while at + HEADER_SIZE <= len(data):
                header = _header(log, segment, data, at, position)
                if at + header.size > len(data):
                    break
                if header.last_offset >= offset:
                    yield header, view[at : at + header.size]
                at += header.size
            if at == 0 and len(data) < wanted:
                return  # the last batch is being written
            wanted = max(_READ_BYTES, 0 if at else LOG_OVERHEAD + int.from_bytes(data[_LENGTH_AT:LOG_OVERHEAD], "big"))
            position += at


def _header(log: Log, segment: int, data: bytes, at: int, position: int) -> BatchHeader:
    try:
        return read_batch_header(data, at)
    except WireError as error:
        raise LakeError(f"{log.place}: {log.file(segment, '.log')} at {position + at}: {error}.") from None


def _plain(log: Log, header: BatchHeader, data: memoryview) -> bytes:
    if not batch_crc_ok(data, 0, len(data)):
        raise LakeError(f"{log.place}: the batch at offset {header.base_offset} is damaged: its checksum does not fit.")
    try:
        return decompress(header.compression, data[HEADER_SIZE:])
    except WireError as error:
        raise LakeError(f"{log.place}: the batch at offset {header.base_offset}: {error}.") from None


def _rows(piece: Piece, decoded: Decoded, *, headers: bool) -> pa.RecordBatch:
    count = len(decoded.offsets)
    place = piece.log.place
    columns = {
        "key": decoded.keys,
        "value": decoded.values,
        "topic": pa.repeat(place.topic, count),
        "partition": pa.array(np.full(count, place.partition, np.int32)),
        "offset": pa.array(decoded.offsets),
        "timestamp": pa.array(decoded.timestamps_ms * 1000).view(pa.timestamp("us", "UTC")),
        "timestampType": pa.array(decoded.timestamp_types.astype(np.int32)),
    }
    if headers and decoded.headers is not None:
        columns["headers"] = decoded.headers
    return pa.RecordBatch.from_pydict(columns)
