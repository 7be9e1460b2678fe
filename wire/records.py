"""Record batches of format 2: a 61-byte header, then records that are compressed together.

The header, which is all that the hot path reads, is in ``batch_header`` and re-exported here.
A record is: length varint | attributes int8 | timestamp delta varlong | offset delta varint | key | value | headers,
with zigzag varints (KIP-98, KIP-82).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pykbroker.wire.batch_header import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    BatchHeader,
    TimestampType,
    UnsupportedMagicError,
    batch_crc_ok,
    iter_batches,
    patch_batch,
    patch_timestamps,
    read_batch_header,
    write_batch_header,
)
from pykbroker.wire.compression import DEFAULT_MAX_BYTES, Compression, compress, decompress
from pykbroker.wire.errors import WireError
from pykbroker.wire.primitives import Buffer

__all__ = [
    "HEADER_SIZE",
    "LOG_OVERHEAD",
    "MAGIC",
    "NO_LEADER_EPOCH",
    "NO_OFFSET",
    "NO_PRODUCER_EPOCH",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "BatchHeader",
    "Compression",
    "Header",
    "Record",
    "TimestampType",
    "UnsupportedMagicError",
    "batch_crc_ok",
    "decode_records",
    "decode_some",
    "encode_batch",
    "iter_batches",
    "patch_batch",
    "patch_timestamps",
    "read_batch_header",
    "read_content",
    "read_unsigned_varint",
    "reencode_batch",
    "unpacked",
    "write_batch_header",
    "write_varint",
]

NO_OFFSET = -1
_INT32_MAX = 2**31 - 1
_INT64_MIN = -(2**63)
_INT64_MAX = 2**63 - 1

Header = tuple[str, bytes | None]


@dataclass(slots=True)
class Record:
    """One record. ``timestamp`` is in milliseconds since the epoch; invalid UTF-8 in a header's key is kept as surrogate
    escapes. Without an ``offset``, ``encode_batch`` numbers a record after its predecessor.
    """

    offset: int = NO_OFFSET
    timestamp: int = NO_TIMESTAMP
    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[Header] = field(default=())


# Reading --------------------------------------------------------------------------------------------------------------


def decode_records(
    batch: Buffer, *, header: BatchHeader | None = None, max_bytes: int = DEFAULT_MAX_BYTES
) -> list[Record]:
    """The records of one complete batch; ``header`` is read from it if not given. The CRC is not checked.

    Raises WireError if the batch is malformed, its number of records differs from the header's, or they are larger than
    ``max_bytes`` decompressed.
    """
    if header is None:
        header = read_batch_header(batch)
    data = unpacked(batch, header, max_bytes)
    records: list[Record] = []
    for some in decode_some(data, header, max(header.record_count, 1)):
        records = some
    return records


def unpacked(batch: Buffer, header: BatchHeader, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
    """The decompressed bytes of a batch's records, for ``decode_some``. Raises WireError if the batch is malformed, or they are
    larger than ``max_bytes``.
    """
    if header.size != len(batch):
        raise WireError(f"the batch says it has {header.size} bytes and has {len(batch)}")
    count = header.record_count
    if count < 0:
        raise WireError(f"a batch of {count} records")
    payload = memoryview(batch)[HEADER_SIZE:]
    if count == 0 and not payload:
        return b""
    data = decompress(header.compression, payload, max_bytes)
    if count > len(data) // _SMALLEST_RECORD:
        raise WireError(f"a batch of {count} records in {len(data)} bytes")
    return data


def decode_some(data: bytes, header: BatchHeader, at_once: int) -> Iterator[list[Record]]:
    """The records in the bytes of ``unpacked``, a limited number at a time, for callers that may not take long. Raises
    WireError as ``decode_records``, at the malformed record.
    """
    fixed = header.max_timestamp if header.timestamp_type is TimestampType.LOG_APPEND_TIME else None
    left, pos = header.record_count, 0
    try:
        while left > 0:
            some = min(at_once, left)
            records, pos = _read_records(data, pos, some, header.base_offset, header.base_timestamp, fixed)
            left -= some
            if not left and pos != len(data):
                break
            yield records
    except IndexError:
        raise WireError("the records end too early") from None
    if pos != len(data):
        raise WireError(f"{len(data) - pos} bytes remain after the last of {header.record_count} records")


_SMALLEST_RECORD = 7  # length, attributes, two deltas, key length, value length, header count: one byte each


def _read_records(
    data: bytes, pos: int, count: int, base_offset: int, base_timestamp: int, fixed_timestamp: int | None
) -> tuple[list[Record], int]:
    """Decode records without calls for varints of one byte, which most are; (n >> 1) ^ -(n & 1) undoes zigzag."""
    records: list[Record] = []
    add = records.append
    for _ in range(count):
        if (length := data[pos]) < 128:
            pos += 1
        else:
            length, pos = read_unsigned_varint(data, pos)
        end = pos + ((length >> 1) ^ -(length & 1))
        pos += 1  # the attributes of a record have no meaning yet
        if (delta := data[pos]) < 128:
            pos += 1
        else:
            delta, pos = read_unsigned_varint(data, pos, 64)
        timestamp = base_timestamp + ((delta >> 1) ^ -(delta & 1))
        if not _INT64_MIN <= timestamp <= _INT64_MAX:
            raise WireError("a record's timestamp does not fit 64 bits")
        if (delta := data[pos]) < 128:
            pos += 1
        else:
            delta, pos = read_unsigned_varint(data, pos)
        offset = base_offset + ((delta >> 1) ^ -(delta & 1))

        if (size := data[pos]) < 128:
            pos += 1
        else:
            size, pos = read_unsigned_varint(data, pos)
        key = None
        if not size & 1:
            key = data[pos : pos + (size >> 1)]
            pos += size >> 1
        if (size := data[pos]) < 128:
            pos += 1
        else:
            size, pos = read_unsigned_varint(data, pos)
        value = None
        if not size & 1:
            value = data[pos : pos + (size >> 1)]
            pos += size >> 1

        headers: Sequence[Header] = ()
        if data[pos] == 0:
            pos += 1
        else:
            headers, pos = _read_headers(data, pos, end)
        if pos != end:
            raise WireError(f"a record ends {abs(end - pos)} bytes {'early' if pos < end else 'late'}")
        add(Record(offset, timestamp if fixed_timestamp is None else fixed_timestamp, key, value, headers))
    return records, pos


def read_content(data: bytes) -> tuple[bytes | None, bytes | None, Sequence[Header]]:
    """Key, value and headers, which are all of ``data``: what follows the offset delta of a record that is well-formed."""
    key = value = None
    size, pos = _read_varint(data, 0)
    if size >= 0:
        key = data[pos : pos + size]
        pos += size
    size, pos = _read_varint(data, pos)
    if size >= 0:
        value = data[pos : pos + size]
        pos += size
    return key, value, _read_headers(data, pos, len(data))[0]


def _read_headers(data: bytes, pos: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, pos = _read_varint(data, pos)
    if not 0 <= count <= end - pos:
        raise WireError(f"{count} record headers where {end - pos} bytes remain")
    headers: list[Header] = []
    for _ in range(count):
        size, pos = _read_varint(data, pos)
        if not 0 <= size <= end - pos:
            raise WireError(f"a header key of {size} bytes where {end - pos} remain")
        key = data[pos : pos + size].decode("utf-8", "surrogateescape")
        pos += size
        size, pos = _read_varint(data, pos)
        value = None
        if size >= 0:
            value = data[pos : pos + size]
            pos += size
        headers.append((key, value))
    return tuple(headers), pos


def _read_varint(data: bytes, pos: int) -> tuple[int, int]:
    value, pos = read_unsigned_varint(data, pos)
    return (value >> 1) ^ -(value & 1), pos


def read_unsigned_varint(data: Buffer, pos: int, bits: int = 32) -> tuple[int, int]:
    """(varint before undoing zigzag, position after it). Excess bits of the last byte are dropped. Raises WireError if it is
    longer than ``bits``, IndexError if it is cut short.
    """
    value = 0
    for shift in range(0, bits, 7):
        byte = data[pos]
        pos += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & ((1 << bits) - 1), pos
    raise WireError(f"a varint is longer than {bits} bits")


# Writing --------------------------------------------------------------------------------------------------------------


def encode_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    compression: Compression = Compression.NONE,
    append_time: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    """A batch of the given records, in order of offsets; without records, a header only.

    ``append_time`` is every record's (LOG_APPEND_TIME), in milliseconds; by default records have their own timestamps.
    Raises WireError if a value does not fit its field.
    """
    records = list(records)
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        partition_leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=compression
        | (0 if append_time is None else TIMESTAMP_TYPE_BIT)
        | (TRANSACTIONAL_BIT if transactional else 0)
        | (CONTROL_BIT if control else 0),
        last_offset_delta=0,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=max((record.timestamp for record in records), default=NO_TIMESTAMP)
        if append_time is None
        else append_time,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=0,
    )
    return _encode(header, records, None, None)


def reencode_batch(
    header: BatchHeader, records: list[Record], *, delete_horizon: int | None = None, level: int | None = None
) -> bytes:
    """The batch of ``header`` with these of its records, as compaction keeps it: everything else of the header stays.

    ``delete_horizon`` is when its tombstones may be removed, in milliseconds since the epoch (KIP-534); without one the batch
    has none. ``level`` is by default the codec's. Raises WireError if a value does not fit its field.
    """
    return _encode(replace(header), records, delete_horizon, level)


def _encode(header: BatchHeader, records: list[Record], delete_horizon: int | None, level: int | None) -> bytes:
    """The batch of the records; ``header`` is given what follows from them."""
    append_time = header.max_timestamp if header.timestamp_type is TimestampType.LOG_APPEND_TIME else None
    if delete_horizon is not None:
        header.base_timestamp = delete_horizon
    elif records and append_time is None:
        header.base_timestamp = records[0].timestamp
    else:
        header.base_timestamp = header.max_timestamp
    plain, last_delta = _write_records(records, header.base_offset, header.base_timestamp, append_time)
    codec = header.compression
    payload = compress(codec, plain, level) if codec and records else plain
    header.attributes &= ~DELETE_HORIZON_BIT
    if not records:
        header.attributes &= ~codec
    if delete_horizon is not None:
        header.attributes |= DELETE_HORIZON_BIT
    header.batch_length = HEADER_SIZE - LOG_OVERHEAD + len(payload)
    header.last_offset_delta = max(header.last_offset_delta, last_delta)
    header.record_count = len(records)
    batch = bytearray(HEADER_SIZE)
    batch += payload
    write_batch_header(batch, 0, header)
    return bytes(batch)


def _write_records(
    records: list[Record], base_offset: int, base_timestamp: int, fixed_timestamp: int | None
) -> tuple[bytearray, int]:
    """(encoded records, offset delta of the last one)."""
    out = bytearray()
    delta = -1
    for record in records:
        previous = delta
        delta = previous + 1 if record.offset == NO_OFFSET else record.offset - base_offset
        if not previous < delta <= _INT32_MAX:
            raise WireError(f"offset {record.offset} cannot follow {base_offset + previous} in one batch")
        body = bytearray(1)
        write_varint(body, (record.timestamp if fixed_timestamp is None else fixed_timestamp) - base_timestamp)
        write_varint(body, delta)
        _write_bytes(body, record.key)
        _write_bytes(body, record.value)
        write_varint(body, len(record.headers))
        for key, value in record.headers:
            _write_bytes(body, _header_key(key))
            _write_bytes(body, value)
        write_varint(out, len(body))
        out += body
    return out, max(delta, 0)


def _header_key(key: str) -> bytes:
    try:
        return key.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise WireError(f"header key {key!r} is not text: {error}") from None


def _write_bytes(out: bytearray, data: bytes | None) -> None:
    if data is None:
        out.append(1)  # a length of -1
        return
    write_varint(out, len(data))
    out += data


def write_varint(out: bytearray, value: int) -> None:
    """Append a signed varint of a record."""
    value = value << 1 if value >= 0 else ~(value << 1)
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
