"""Batches as compaction reads and writes them: with fewer records, with none, with a time for their tombstones.

Of a record it needs the key, whether there is a value, and where its bytes lie.

Values and headers are passed over by the record's length. A batch that loses records is made of the bytes of those that
stay: base offset and base timestamp do not change, so neither does a record.

    record => length varint | attributes int8 | timestamp delta varlong | offset delta varint | key length varint | key
              | value length varint | value | headers
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from wire.batch_header import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    BatchHeader,
    TimestampType,
    read_batch_header,
    write_batch_header,
)
from wire.compression import compress, decompress
from wire.primitives import Buffer
from wire.records import Record, decode_records, encode_batch

#: One record: start, end, offset, timestamp, key, has_value. ``start`` and ``end`` are positions in the batch's
#: decompressed records. A plain tuple: a million of them are made and taken apart, and names would cost a third more.
ScannedRecord = tuple[int, int, int, int, bytes | None, bool]


@dataclass(slots=True)
class ScannedBatch:
    """A batch with its decompressed records."""

    header: BatchHeader
    payload: Buffer
    records: list[ScannedRecord]


def scan_batch(header: BatchHeader, data: Buffer) -> ScannedBatch:
    """Find the records of a batch that is known to be sound. Raises WireError or IndexError where it is not."""
    payload = data[HEADER_SIZE:]
    if header.compression:
        payload = decompress(header.compression, payload)
    elif not isinstance(payload, bytes):
        payload = bytes(payload)
    return ScannedBatch(header, payload, _scan(payload, header))


def _scan(data: bytes, header: BatchHeader) -> list[ScannedRecord]:
    """Straight-line on purpose: short varints, which most are, are read in place; (n >> 1) ^ -(n & 1) unzigzags."""
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    found: list[ScannedRecord] = []
    add = found.append
    end = 0
    for _ in range(header.record_count):
        start = end
        number, after = data[start], data[start + 1]
        if number < 128:
            position = start + 1
        elif after < 128:
            number, position = (number & 127) | after << 7, start + 2
        else:
            number, position = _uvarint(data, start)
        end = position + (number >> 1)
        position += 1
        number = data[position]
        if number < 128:
            position += 1
        else:
            number, position = _uvarint(data, position)
        timestamp = base_timestamp + ((number >> 1) ^ -(number & 1))
        number = data[position]
        if number < 128:
            position += 1
        else:
            number, position = _uvarint(data, position)
        offset = base_offset + (number >> 1)
        number = data[position]
        if number < 128:
            position += 1
        else:
            number, position = _uvarint(data, position)
        if number & 1:
            key = None
        else:
            key = data[position : position + (number >> 1)]
            position += number >> 1
        add((start, end, offset, timestamp, key, not data[position] & 1))
    return found


def _uvarint(data: bytes, position: int) -> tuple[int, int]:
    number, shift = 0, 0
    while True:
        byte = data[position]
        position += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, position
        shift += 7


def keep_records(batch: ScannedBatch, kept: list[ScannedRecord], level: int | None) -> tuple[BatchHeader, bytes]:
    """The batch with only the records ``kept``: same place in the log, same codec, same producer."""
    header, payload = batch.header, batch.payload
    body: Buffer = b"".join([payload[start:end] for start, end, _, _, _, _ in kept])
    if header.compression:
        body = compress(header.compression, body, level)
    newest = header.max_timestamp
    if header.timestamp_type is TimestampType.CREATE_TIME:
        newest = max([timestamp for _, _, _, timestamp, _, _ in kept])
    smaller = replace(
        header,
        batch_length=HEADER_SIZE - LOG_OVERHEAD + len(body),
        record_count=len(kept),
        max_timestamp=newest,
    )
    data = bytearray(HEADER_SIZE) + body
    write_batch_header(data, 0, smaller)
    return smaller, bytes(data)


def emptied(header: BatchHeader) -> tuple[BatchHeader, Buffer]:
    """The batch without its records: who wrote it, its offsets and sequences are left."""
    return _encode(header, [], None, None)


def with_delete_horizon(
    header: BatchHeader, data: Buffer, horizon_ms: int, level: int | None
) -> tuple[BatchHeader, Buffer]:
    """The batch with the time from which its tombstones, or its marker, may go (KIP-534)."""
    return _encode(header, decode_records(data, header=header), horizon_ms, level)


def _encode(
    header: BatchHeader, records: list[Record], horizon_ms: int | None, level: int | None
) -> tuple[BatchHeader, Buffer]:
    encoded = encode_batch(
        records,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        compression=header.compression,
        level=level,
        timestamp_type=header.timestamp_type,
        max_timestamp=header.max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        control=header.is_control,
        leader_epoch=header.partition_leader_epoch,
        delete_horizon=horizon_ms,
    )
    return read_batch_header(encoded), encoded
