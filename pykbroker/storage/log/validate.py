"""Validation of a batch before a leader appends it: the rules of Kafka's LogValidator (4.4.0) for format 2.

Usually only the header, the checksum and, of an uncompressed batch, the records' lengths are checked. Records are read if a setting of the topic
requires it: compaction (keys), message.timestamp.before.max.ms, a compression.type other than the producer's,
pykbroker.validate.records, and of a compressed batch max.decompressed.message.bytes; or if a timestamp is out of range and the
answer must name the records. ``lengths.py`` reads the lengths and ``content.py`` the records, at once or in a thread.
"""

from __future__ import annotations

from enum import Enum
from struct import Struct
from typing import TYPE_CHECKING, NoReturn, Protocol

from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.lengths import (
    FREE_STEPS,
    MOST_STEPS,
    SHORTEST,
    STEPS_OF_A_RECORD,
    are_alike,
    walk,
    wrong_length,
)
from pykbroker.storage.log.rejections import NotOneBatch
from pykbroker.wire.batch_header import (
    ATTRIBUTES_AT,
    CONTROL_BIT,
    CRC_AT,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    TIMESTAMP_TYPE_BIT,
    BatchHeader,
    read_batch_header,
)
from pykbroker.wire.compression import Compression
from pykbroker.wire.crc import crc32c
from pykbroker.wire.errors import ErrorCode, KafkaError, TooMuchContent, WireError
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import read_unsigned_varint

if TYPE_CHECKING:
    # Protocols are for the type checker: at run time each would take 12 KB of memory, and nobody asks for them.
    class Allowance(Protocol):
        """How many records may be read now."""

        def take(self, records: int, /) -> bool:
            """Whether a batch that takes as long as this many records may be read now; it is counted then."""
            ...


_CODEC_MASK = 0x07
_MAGIC_AT = CRC_AT - 1
_length_at = Struct(">8xi").unpack_from
#: The smallest size of a message in the oldest format; a smaller length is invalid.
_LEGACY_OVERHEAD = 14
#: Length, attributes, two deltas, key length, value length, header count: a byte each.
_SMALLEST_RECORD = 7
#: Bytes of the smallest record whose length takes three of them.
_TAKES_THREE = 2**13 + 2
#: Bytes of a batch, decompressed too, that are read at once; and of a compressed one.
_READ_NOW = 64 * 1024
_READ_NOW_COMPRESSED = 16 * 1024
#: What a codec costs besides the records, in records.
_COST_OF_CODEC = 32


class Origin(Enum):
    """The origin of a batch, which decides how much is checked."""

    CLIENT = 1
    COORDINATOR = 2


class ContentNotRead(Exception):
    """The records must be read, and are too many to be read now. ``header`` and ``records`` are for ``read_content``; or for
    ``read_lengths``, if the lengths are all that is to be read.
    """

    def __init__(self, header: BatchHeader, records: Buffer, *, only_lengths: bool = False) -> None:
        super().__init__()
        self.header = header
        self.records = records
        self.only_lengths = only_lengths


def validate_batch(
    records: Buffer,
    config: LogConfig,
    origin: Origin,
    now_ms: int,
    log_name: str = "",
    allowance: Allowance | None = None,
) -> tuple[BatchHeader, Buffer]:
    """Validate ``records``, which must be exactly one batch; returns its header and the bytes to append, patched in place.

    ``log_name`` is for messages. Without an ``allowance`` records are read however long it takes; with one, raises ContentNotRead
    where that is too long, and nothing was changed. The bytes are new ones if they had to change and ``records`` is read-only, or if they
    were compressed again. Raises KafkaError INVALID_RECORD, MESSAGE_TOO_LARGE, CORRUPT_MESSAGE or
    UNSUPPORTED_COMPRESSION_TYPE, or RecordsRejected (INVALID_RECORD, INVALID_TIMESTAMP).
    """
    header = _read_single_batch(records)
    size = header.batch_length + LOG_OVERHEAD
    if size < len(records):
        records = memoryview(records)[:size]
    attributes = header.attributes
    if origin is Origin.CLIENT and header.base_offset != 0:
        raise _invalid(f"The baseOffset of the record batch should be 0, but it is {header.base_offset}")
    if header.batch_length > config.max_message_bytes - 12:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The record batch size is {size} bytes which exceeds the maximum configured value of "
            f"{config.max_message_bytes}.",
        )
    if origin is Origin.CLIENT:
        if crc32c(memoryview(records)[ATTRIBUTES_AT:size]) != header.crc:  # ``batch_crc_ok``, in place
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Record is corrupt (stored crc = {header.crc})")
        count = header.record_count
        if (
            count <= 0
            or header.last_offset_delta + 1 != count
            or attributes & CONTROL_BIT
            or header.base_sequence < 0 <= header.producer_id
        ):
            _refuse_client_batch(header)
    if attributes & CONTROL_BIT:
        return header, records
    if (
        config.opaque_batches
        and not attributes & TIMESTAMP_TYPE_BIT
        and header.base_timestamp <= header.max_timestamp <= now_ms + config.timestamp_after_max_ms
        and attributes & _CODEC_MASK <= Compression.ZSTD
    ):
        if not attributes & _CODEC_MASK and origin is Origin.CLIENT:
            if header.record_count > 1:
                _check_lengths(records, header, allowance)
            elif not _is_one_record(records):
                raise wrong_length()
        return header, records
    if origin is Origin.COORDINATOR and config.keeps_own_batches:
        return header, records  # this process has just encoded them, with keys and its own time
    return _with_content(header, records, config, now_ms, log_name, allowance)


def validate_own(header: BatchHeader, batch: bytearray, config: LogConfig) -> tuple[BatchHeader, Buffer] | None:
    """What ``validate_batch`` returns for a batch that this process has just encoded with keys and its own time; None where it has more to
    say. ``header`` is the batch's.
    """
    kept = config.keeps_own_batches and header.batch_length <= config.max_message_bytes - 12
    return (header, batch) if kept else None


def _read_single_batch(records: Buffer) -> BatchHeader:
    """The header of the one batch that a produce request (version 3 and later) must hold for a partition.

    Bytes after it that form no whole batch are ignored, as by Kafka's reader.
    """
    if len(records) >= HEADER_SIZE and records[_MAGIC_AT] == MAGIC:
        try:
            header = read_batch_header(records)
            if header.batch_length == len(records) - LOG_OVERHEAD:
                return header  # the usual case: one batch, and no more
        except WireError:
            pass  # said below, in Kafka's order
    size = _whole_batch(records, 0)
    if size is None:
        raise _not_one("Produce requests must have at least one record batch per partition")
    if records[_MAGIC_AT] != MAGIC:
        raise _not_one("Produce requests are only allowed to contain record batches with magic version 2")
    if size < len(records) and _whole_batch(records, size) is not None:
        raise _not_one("Produce requests are only allowed to contain exactly one record batch per partition")
    try:
        return read_batch_header(records)
    except WireError as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None


def _whole_batch(records: Buffer, start: int) -> int | None:
    """The size of the batch or message at ``start``; None if it is incomplete (ByteBufferLogInputStream)."""
    remain = len(records) - start
    if remain < LOG_OVERHEAD:
        return None
    length = _length_at(records, start)[0]
    if length < _LEGACY_OVERHEAD:
        message = f"Record size {length} is less than the minimum record overhead ({_LEGACY_OVERHEAD})"
        raise NotOneBatch(ErrorCode.CORRUPT_MESSAGE, message, excerpt=True)
    if remain <= _MAGIC_AT:
        return None
    magic = records[start + _MAGIC_AT]
    if magic > MAGIC:
        message = f"Invalid magic found in record: {magic - 256 if magic > 127 else magic}"
        raise NotOneBatch(ErrorCode.CORRUPT_MESSAGE, message, excerpt=True)
    size: int = LOG_OVERHEAD + length
    return size if size <= remain else None


def _not_one(message: str) -> NotOneBatch:
    return NotOneBatch(ErrorCode.INVALID_RECORD, message)


def _refuse_client_batch(header: BatchHeader) -> NoReturn:
    """Raises KafkaError INVALID_RECORD with the rule that is broken, in Kafka's order."""
    count = header.record_count
    if header.last_offset_delta < 0:
        raise _invalid(f"Batch has an invalid offset range: [{header.base_offset}, {header.last_offset}]")
    if count <= 0:
        raise _invalid(f"Invalid reported count for record batch: {count}")
    if header.last_offset_delta + 1 != count:
        raise _invalid(
            f"Inconsistent batch offset range [{header.base_offset}, {header.last_offset}] and count of records {count}"
        )
    if header.attributes & CONTROL_BIT:
        raise _invalid("Clients are not allowed to write control records")
    raise _invalid(
        f"Invalid sequence number {header.base_sequence} in record batch with producerId {header.producer_id}"
    )


def holds_one_record(records: Buffer, size: int, first: int, second: int, third: int) -> bool:
    """``_is_one_record`` for a batch of ``size`` bytes, by the first three bytes of its record: two or three of them are its length,
    usually.
    """
    left = size - HEADER_SIZE
    if left < _TAKES_THREE:
        length = left - 2 << 1
        fills = first == length & 127 | 128 and second == length >> 7 and length >= SHORTEST
    else:
        length = left - 3 << 1
        fills = first == length & 127 | 128 and second == length >> 7 & 127 | 128 and third == length >> 14 < 128
    return fills or _is_one_record(records)


def _is_one_record(records: Buffer) -> bool:
    """Whether the one record of an uncompressed batch ends where the batch ends: what most produces of a single record cost."""
    size = len(records)
    if size < HEADER_SIZE + _SMALLEST_RECORD:
        return False
    length, start = records[HEADER_SIZE], HEADER_SIZE + 1
    if length > 127:
        byte, start = records[start], start + 1
        if byte > 127:
            return _is_one_large_record(records)
        length = length & 127 | byte << 7
    return not length & 1 and length >= SHORTEST and start + (length >> 1) == size


def _is_one_large_record(records: Buffer) -> bool:
    """``_is_one_record`` for a record of more than 8 KiB."""
    try:
        length, start = read_unsigned_varint(records, HEADER_SIZE)
    except (WireError, IndexError):
        return False
    return not length & 1 and length >= SHORTEST and start + (length >> 1) == len(records)


def _check_lengths(records: Buffer, header: BatchHeader, allowance: Allowance | None) -> None:
    """Check the lengths of the records of an uncompressed batch. Raises KafkaError INVALID_RECORD, and ContentNotRead where they are so
    many, and so different, that a thread does it.
    """
    if are_alike(records, header.record_count):
        return
    pos, left = walk(records, HEADER_SIZE, header.record_count, FREE_STEPS)
    while left:
        steps = min(left, MOST_STEPS)
        if allowance is not None and not allowance.take(steps // STEPS_OF_A_RECORD):
            raise ContentNotRead(header, records, only_lengths=True)
        pos, left = walk(records, pos, left, steps)


def _with_content(
    header: BatchHeader,
    records: Buffer,
    config: LogConfig,
    now_ms: int,
    log_name: str,
    allowance: Allowance | None,
) -> tuple[BatchHeader, Buffer]:
    """Validate a batch of whose records a setting or its timestamps require more than the header."""
    from pykbroker.storage.log import content

    if not content.must_read(header, config, now_ms):
        if not header.attributes & _CODEC_MASK:
            _check_lengths(records, header, allowance)
        return content.stamp(header, records, config, now_ms, header.max_timestamp)
    if allowance is None:
        return content.read_content(header, records, config, now_ms, log_name)
    compressed = header.attributes & _CODEC_MASK != 0
    few_bytes = header.size <= (_READ_NOW_COMPRESSED if compressed else _READ_NOW)
    if few_bytes and allowance.take(header.record_count + (_COST_OF_CODEC if compressed else 0)):
        try:
            return content.read_content(header, records, config, now_ms, log_name, max_bytes=_READ_NOW)
        except TooMuchContent:
            pass
    raise ContentNotRead(header, records)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, message)
