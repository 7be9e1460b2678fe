"""The 61-byte header of record batches of format 2, read and patched without touching the records after it.

    base offset 0 | length 8 | leader epoch 12 | magic 16 | CRC 17 | attributes 21 | last offset delta 23
    | base timestamp 27 | max timestamp 35 | producer id 43 | producer epoch 51 | base sequence 53 | record count 57

The CRC-32C covers everything from the attributes on, so base offset and leader epoch may change without it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from pykbroker.wire.compression import Compression, compression_of
from pykbroker.wire.crc import crc32c
from pykbroker.wire.errors import WireError
from pykbroker.wire.primitives import Buffer

HEADER_SIZE = 61
LOG_OVERHEAD = 12
"""Bytes of base offset and length, which the length field does not count."""
MAGIC = 2

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1
NO_TIMESTAMP = -1

TIMESTAMP_TYPE_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40

CRC_AT = 17
ATTRIBUTES_AT = 21
_MAX_TIMESTAMP_AT = 35

_HEADER = struct.Struct(">qiibIhiqqqhii")
_unpack_header = _HEADER.unpack_from
_pack_header = _HEADER.pack_into
_BEGIN = struct.Struct(">qiibIhiqqqhiiBBB")
unpack_batch_begin = _BEGIN.unpack_from
"""The fields of a batch header in their order, and the first three bytes of the records; of a buffer that has so many bytes."""
LEAST_BEGIN = _BEGIN.size
pack_place = struct.Struct(">qii").pack_into
"""``place_batch`` for a batch that begins at a position of a buffer, without a call of Python: each produce comes there."""
_INT64 = struct.Struct(">q")
_INT32 = struct.Struct(">i")
_CRC = struct.Struct(">I")
_unpack_crc = _CRC.unpack_from
_pack_crc = _CRC.pack_into
_ATTRIBUTES = struct.Struct(">h")


class TimestampType(IntEnum):
    """Whether the timestamps of a batch are the producer's or the time of the append."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class UnsupportedMagicError(WireError):
    """A batch of format 0 or 1, as before Kafka 0.11, or of an unknown later format."""

    def __init__(self, magic: int) -> None:
        super().__init__(f"record batch of format {magic}; only format {MAGIC} is supported")
        self.magic = magic


@dataclass(slots=True)
class BatchHeader:
    """The header's fields in their order. Timestamps are milliseconds since 1970, lengths are bytes."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch, header included."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record; sequences wrap from 2**31 - 1 to 0 (KIP-98)."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def compression(self) -> Compression:
        """The codec of the records. Raises WireError for an unknown codec."""
        return compression_of(self.attributes)

    @property
    def timestamp_type(self) -> TimestampType:
        log_append = self.attributes & TIMESTAMP_TYPE_BIT
        return TimestampType.LOG_APPEND_TIME if log_append else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def has_delete_horizon(self) -> bool:
        """Whether the base timestamp is the delete horizon, when tombstones in the batch may be removed (KIP-534)."""
        return bool(self.attributes & DELETE_HORIZON_BIT)

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID


def read_batch_header(buf: Buffer, pos: int = 0) -> BatchHeader:
    """The header of the batch at ``pos``. Neither the CRC is checked nor whether the whole batch is in ``buf``.

    Raises WireError if fewer than 61 bytes remain or the length is too small for a batch, and its subclass
    UnsupportedMagicError for formats other than 2.
    """
    try:
        header = BatchHeader(*_unpack_header(buf, pos))
    except struct.error:
        if len(buf) - pos > CRC_AT - 1 and buf[pos + CRC_AT - 1] != MAGIC:  # formats 0 and 1 have shorter headers
            raise UnsupportedMagicError(_signed_byte(buf[pos + CRC_AT - 1])) from None
        raise WireError(f"a batch header takes {HEADER_SIZE} bytes and {len(buf) - pos} remain") from None
    if header.magic != MAGIC:
        raise UnsupportedMagicError(header.magic)
    if header.batch_length < HEADER_SIZE - LOG_OVERHEAD:
        raise WireError(f"a batch length of {header.batch_length} is less than its header")
    return header


def batch_crc_ok(buf: Buffer, pos: int, size: int) -> bool:
    """Whether the CRC-32C in the header of the batch ``buf[pos:pos + size]`` matches its content."""
    (stored,) = _unpack_crc(buf, pos + CRC_AT)
    return bool(crc32c(memoryview(buf)[pos + ATTRIBUTES_AT : pos + size]) == stored)


def iter_batches(buf: Buffer, pos: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each batch in ``buf``. Raises WireError at a malformed or incomplete one."""
    end = len(buf)
    while pos < end:
        header = read_batch_header(buf, pos)
        size = header.size
        if size > end - pos:
            raise WireError(f"a batch of {size} bytes where {end - pos} remain")
        yield pos, header
        pos += size


def patch_batch(buf: bytearray | memoryview, pos: int, base_offset: int, leader_epoch: int) -> None:
    """Set base offset and leader epoch of the batch at ``pos`` in place. The CRC does not cover them and remains valid."""
    _INT64.pack_into(buf, pos, base_offset)
    _INT32.pack_into(buf, pos + LOG_OVERHEAD, leader_epoch)


def place_batch(buf: bytearray | memoryview, base_offset: int, batch_length: int, leader_epoch: int) -> None:
    """``patch_batch`` at the start of ``buf``, with the length that the batch has, in one stroke."""
    pack_place(buf, 0, base_offset, batch_length, leader_epoch)


def patch_timestamps(
    buf: bytearray | memoryview, pos: int, size: int, timestamp_type: TimestampType, max_timestamp: int
) -> None:
    """Set timestamp type and max timestamp of the batch ``buf[pos:pos + size]`` in place, and its CRC.

    With LOG_APPEND_TIME the max timestamp is every record's, so compressed batches need no rewriting.
    """
    (attributes,) = _ATTRIBUTES.unpack_from(buf, pos + ATTRIBUTES_AT)
    attributes &= ~TIMESTAMP_TYPE_BIT
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        attributes |= TIMESTAMP_TYPE_BIT
    _ATTRIBUTES.pack_into(buf, pos + ATTRIBUTES_AT, attributes)
    _INT64.pack_into(buf, pos + _MAX_TIMESTAMP_AT, max_timestamp)
    write_crc(buf, pos, size)


def write_batch_header(buf: bytearray | memoryview, pos: int, header: BatchHeader) -> None:
    """Write all fields of ``header`` at ``pos`` except ``crc``, then the CRC of the batch, whose records must already be there.

    Raises WireError if a field does not fit.
    """
    try:
        _pack_header(
            buf,
            pos,
            header.base_offset,
            header.batch_length,
            header.partition_leader_epoch,
            header.magic,
            0,
            header.attributes,
            header.last_offset_delta,
            header.base_timestamp,
            header.max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.record_count,
        )
    except struct.error as error:
        raise WireError(f"a batch header field is out of range: {error}") from None
    write_crc(buf, pos, header.size)


def write_plain_header(batch: bytearray, base_offset: int, leader_epoch: int, timestamp: int, count: int) -> None:
    """Write the header of a batch that fills ``batch`` and has its records already: ``count`` of one time, not compressed, without a
    producer. The CRC with it.
    """
    length, last = len(batch) - LOG_OVERHEAD, count - 1
    _pack_header(
        *(batch, 0, base_offset, length, leader_epoch, MAGIC, 0, 0, last, timestamp, timestamp),
        *(NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE, count),
    )
    _pack_crc(batch, CRC_AT, crc32c(memoryview(batch)[ATTRIBUTES_AT:]))


def write_crc(buf: bytearray | memoryview, pos: int, size: int) -> None:
    """Compute and store the CRC-32C of the batch ``buf[pos:pos + size]``."""
    with memoryview(buf) as view:
        _pack_crc(buf, pos + CRC_AT, crc32c(view[pos + ATTRIBUTES_AT : pos + size]))


def _signed_byte(value: int) -> int:
    return value - 256 if value > 127 else value
