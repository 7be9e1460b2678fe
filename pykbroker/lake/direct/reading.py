"""One task of the direct source: a range of a partition's offsets as Arrow batches of the requested columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pykbroker.lake.direct.batches import Piece, StoredBatch, batches
from pykbroker.lake.direct.columns import Columns
from pykbroker.lake.direct.decoding import DecodedRecords, decode, from_headers
from pykbroker.lake.direct.python_workers import forget_own_archives
from pykbroker.lake.errors import LakeError
from pykbroker.wire.batch_header import BatchHeader, TimestampType
from pykbroker.wire.errors import WireError

_CHUNK_BYTES = 8 << 20
"""About how many bytes of decompressed records are decoded together."""
_COUNTED_BYTES = 64
"""The size that a record counts for in a chunk of which only batch headers are read."""
_MICROS = 1000
_LAST_MS = ((1 << 63) - 1) // _MICROS
"""The largest timestamp for Spark, whose timestamps are microseconds in 64 bits."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How records are read, according to options and schema."""

    columns: Columns
    committed: bool = False
    newest_of_key: bool = False
    fail_on_data_loss: bool = True


def read_piece(piece: Piece, manner: Manner) -> Iterator[pa.RecordBatch]:
    """Read a range. Raises LakeError or DataLost, with partition, file and offset, for records that are damaged or gone."""
    forget_own_archives()
    if not manner.newest_of_key:
        for decoded in _decoded(piece, manner, manner.columns):
            yield _rows(piece, decoded, manner.columns)
        return
    newest = dict(each for decoded in _decoded(piece, manner, Columns(("key",))) for each in _keyed(decoded))
    newest.pop(None, None)
    for decoded in _decoded(piece, manner, Columns((*manner.columns.names, "key"))):
        kept = [newest.get(key, offset) == offset for key, offset in _keyed(decoded)]
        yield _rows(piece, decoded, manner.columns).filter(pa.array(kept, pa.bool_()))


def _keyed(decoded: DecodedRecords) -> Iterator[tuple[bytes | None, int]]:
    return zip(decoded.content["key"].to_pylist(), decoded.offsets.tolist(), strict=True)


def _decoded(piece: Piece, manner: Manner, columns: Columns) -> Iterator[DecodedRecords]:
    """The records of the range; those of the first and last batch outside of it are cut off."""
    for chunk in _chunks(piece, manner, columns):
        decoded = _decode(chunk, columns)
        first, end = (int(np.searchsorted(decoded.offsets, limit)) for limit in (piece.start, piece.until))
        if first < end:
            yield decoded.part(first, end)


Chunk = list[tuple[StoredBatch, bytes | None]]
"""Batches with their records, or all without records where headers are enough."""


def _chunks(piece: Piece, manner: Manner, columns: Columns) -> Iterator[Chunk]:
    chunk: Chunk = []
    size = 0
    for batch in batches(piece, committed=manner.committed, fail_on_data_loss=manner.fail_on_data_loss):
        records = None if _headers_are_enough(batch.header, columns) else batch.records()
        if chunk and (size >= _CHUNK_BYTES or (records is None) is not (chunk[0][1] is None)):
            yield chunk
            chunk, size = [], 0
        chunk.append((batch, records))
        size += batch.header.record_count * _COUNTED_BYTES if records is None else len(records)
    if chunk:
        yield chunk


def _headers_are_enough(header: BatchHeader, columns: Columns) -> bool:
    """Without missing offsets, the base offset and the count tell all offsets."""
    appended = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    return header.record_count == header.last_offset_delta + 1 and not columns.in_records(appended=appended)


def _decode(chunk: Chunk, columns: Columns) -> DecodedRecords:
    if chunk[0][1] is None:
        return from_headers([batch.header for batch, _ in chunk])
    try:
        return decode([(batch.header, records) for batch, records in chunk if records is not None], columns.names)
    except WireError as error:
        if len(chunk) == 1:
            raise chunk[0][0].trouble(error) from None
        for each in chunk:
            _decode([each], columns)  # raises an error that names the damaged batch
        raise LakeError(f"{chunk[0][0].log.place} from offset {chunk[0][0].header.base_offset} on: {error}.") from None


def _rows(piece: Piece, decoded: DecodedRecords, columns: Columns) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([_column(piece, decoded, name) for name in columns.names], list(columns.names))


def _column(piece: Piece, decoded: DecodedRecords, name: str) -> Any:
    if name in decoded.content:
        return decoded.content[name]
    if name == "topic":
        return pa.repeat(piece.log.place.topic, len(decoded.offsets))
    if name == "partition":
        return pa.repeat(pa.scalar(piece.log.place.partition, pa.int32()), len(decoded.offsets))
    if name == "offset":
        return pa.array(decoded.offsets)
    if name == "timestampType":
        return pa.array(decoded.timestamp_types)
    return _timestamps(piece, decoded)


def _timestamps(piece: Piece, decoded: DecodedRecords) -> Any:
    beyond = np.flatnonzero(np.abs(decoded.timestamps_ms) > _LAST_MS)
    if beyond.size:
        offset, timestamp = (int(each[beyond[0]]) for each in (decoded.offsets, decoded.timestamps_ms))
        raise LakeError(
            f"{piece.log.place}: the record at offset {offset} has the timestamp {timestamp}, which no timestamp of Spark's can hold; "
            "leave the column out of the schema to read the others."
        )
    return pa.array(decoded.timestamps_ms * _MICROS).view(pa.timestamp("us", "UTC"))
