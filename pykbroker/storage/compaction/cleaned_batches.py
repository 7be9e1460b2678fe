"""Batches as compaction reads and writes them: with fewer records, with none, with a time for their tombstones.

Of a record only the key, the presence of a value and the end are decoded. A batch that loses records is built from the bytes
of those that stay: base offset and base timestamp do not change, so neither does a record.

    record => length varint | attributes int8 | timestamp delta varlong | offset delta varint | key length varint | key
              | value length varint | value | headers
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pykbroker.wire.batch_header import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    BatchHeader,
    TimestampType,
    read_batch_header,
    write_batch_header,
)
from pykbroker.wire.compression import DEFAULT_MAX_BYTES, compress, decompress
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import Record, decode_records, reencode_batch


@dataclass(slots=True)
class ScannedBatch:
    """A batch with its decompressed records, numbered from 0."""

    header: BatchHeader
    payload: bytes
    #: The end of each record in the payload.
    ends: list[int]
    keys: list[bytes | None]
    #: Numbers of the records without a value.
    tombstones: list[int]


def scan_batch(header: BatchHeader, data: Buffer, max_bytes: int = DEFAULT_MAX_BYTES) -> ScannedBatch:
    """Find the records of a valid batch. Raises TooMuchContent beyond ``max_bytes`` decompressed, and WireError or IndexError if it
    is not valid.

    Inlined for speed, since it scans every record: varints of one byte, the usual case, are read in place.
    """
    payload = (
        decompress(header.compression, data[HEADER_SIZE:], max_bytes)
        if header.compression
        else bytes(data[HEADER_SIZE:])
    )
    found = ScannedBatch(header, payload, [], [], [])
    add_end, add_key = found.ends.append, found.keys.append
    end = 0
    for number in range(header.record_count):
        length, after = payload[end], payload[end + 1]
        if length < 128:
            position = end + 2
        elif after < 128:
            length, position = (length & 127) | after << 7, end + 3
        else:
            length, position = _uvarint(payload, end)
            position += 1
        end = position - 1 + (length >> 1)
        add_end(end)
        while payload[position] > 127:  # timestamp delta
            position += 1
        position += 1
        while payload[position] > 127:  # offset delta
            position += 1
        position += 1
        length = payload[position]
        if length < 128:
            position += 1
        else:
            length, position = _uvarint(payload, position)
        if length & 1:
            add_key(None)
        else:
            after = position + (length >> 1)
            add_key(payload[position:after])
            position = after
        if payload[position] & 1:
            found.tombstones.append(number)
    return found


def _uvarint(data: bytes, position: int) -> tuple[int, int]:
    """An unsigned varint and the position after it; of an even n the decoded length is n >> 1."""
    number, shift = 0, 0
    while True:
        byte = data[position]
        position += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, position
        shift += 7


def keep_records(batch: ScannedBatch, kept: Sequence[int], level: int | None) -> tuple[BatchHeader, bytes]:
    """The batch with only these records, at least one; offsets, codec and producer stay."""
    header, payload = batch.header, batch.payload
    starts = [0, *batch.ends]
    body: Buffer = b"".join([payload[starts[number] : starts[number + 1]] for number in kept])
    if header.compression:
        body = compress(header.compression, body, level)
    newest = header.max_timestamp
    if header.timestamp_type is TimestampType.CREATE_TIME:
        newest = header.base_timestamp + max([_timestamp_delta(payload, starts[number]) for number in kept])
    smaller = replace(
        header,
        batch_length=HEADER_SIZE - LOG_OVERHEAD + len(body),
        record_count=len(kept),
        max_timestamp=newest,
    )
    data = bytearray(HEADER_SIZE) + body
    write_batch_header(data, 0, smaller)
    return smaller, bytes(data)


def _timestamp_delta(payload: bytes, start: int) -> int:
    """The timestamp delta of the record that begins at ``start``, in milliseconds."""
    _, position = _uvarint(payload, start)
    zigzag, _ = _uvarint(payload, position + 1)
    return (zigzag >> 1) ^ -(zigzag & 1)


def emptied(header: BatchHeader) -> tuple[BatchHeader, Buffer]:
    """The batch without records; producer, offsets and sequences stay."""
    return _encode(header, [], None, None)


def with_delete_horizon(
    header: BatchHeader, data: Buffer, horizon_ms: int, level: int | None
) -> tuple[BatchHeader, Buffer]:
    """The batch with the time from which its tombstones or its marker may be removed (KIP-534)."""
    return _encode(header, decode_records(data, header=header), horizon_ms, level)


def _encode(
    header: BatchHeader, records: list[Record], horizon_ms: int | None, level: int | None
) -> tuple[BatchHeader, Buffer]:
    encoded = reencode_batch(header, records, delete_horizon=horizon_ms, level=level)
    return read_batch_header(encoded), encoded
