"""Validation of a batch before a leader appends it: the rules of Kafka's LogValidator (4.3.1) for format 2.

Usually only the header and the checksum are checked. Records are decoded if a setting of the topic requires it: compaction
(keys), message.timestamp.before.max.ms, a compression.type other than the producer's; or if a timestamp is out of range and
the answer must name the records.
"""

from __future__ import annotations

from enum import Enum
from struct import Struct

from pykbroker.storage.log.config import LogConfig
from pykbroker.wire.batch_header import (
    CONTROL_BIT,
    CRC_AT,
    LOG_OVERHEAD,
    MAGIC,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_BIT,
    BatchHeader,
    TimestampType,
    batch_crc_ok,
    patch_timestamps,
    read_batch_header,
)
from pykbroker.wire.compression import Compression, compression_of
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import Record, decode_records, encode_batch

_CODEC_MASK = 0x07
_MAGIC_AT = CRC_AT - 1
_length_at = Struct(">8xi").unpack_from
#: The smallest size of a message in the oldest format; a smaller length is invalid.
_LEGACY_OVERHEAD = 14
_SHOWN_ERRORS = 3


class Origin(Enum):
    """The origin of a batch, which decides how much is checked."""

    CLIENT = 1
    COORDINATOR = 2


class RecordsRejected(KafkaError):
    """Some records of a batch break a rule; nothing was appended. ``record_errors``: (index in the batch, message)."""

    def __init__(self, code: ErrorCode, message: str, record_errors: list[tuple[int, str]]) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


class NotOneBatch(KafkaError):
    """The bytes are not one batch of format 2; no log was accessed. ``shown``: the message is part of the answer."""

    def __init__(self, code: ErrorCode, message: str, *, shown: bool = False) -> None:
        super().__init__(code, message)
        self.shown = shown


def validate_batch(
    records: Buffer, config: LogConfig, origin: Origin, now_ms: int, log_name: str = ""
) -> tuple[BatchHeader, Buffer]:
    """Validate ``records``, which must be exactly one batch; returns its header and the bytes to append, patched in place.

    ``log_name`` is for messages. The bytes are new ones if they had to change and ``records`` is read-only, or if they
    were compressed again. Raises KafkaError INVALID_RECORD, MESSAGE_TOO_LARGE, CORRUPT_MESSAGE or
    UNSUPPORTED_COMPRESSION_TYPE, or RecordsRejected (INVALID_RECORD, INVALID_TIMESTAMP).
    """
    header = _read_single_batch(records)
    if header.size < len(records):
        records = memoryview(records)[: header.size]
    attributes = header.attributes
    if origin is Origin.CLIENT and header.base_offset != 0:
        raise _invalid(f"The baseOffset of the record batch should be 0, but it is {header.base_offset}")
    if header.batch_length > config.max_message_bytes - 12:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The record batch size is {header.size} bytes which exceeds the maximum configured value of "
            f"{config.max_message_bytes}.",
        )
    if origin is Origin.CLIENT:
        if not batch_crc_ok(records, 0, header.size):
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Record is corrupt (stored crc = {header.crc})")
        _check_client_batch(header)
    if attributes & CONTROL_BIT:
        return header, records
    if (
        config.opaque_batches
        and not attributes & TIMESTAMP_TYPE_BIT
        and header.base_timestamp <= header.max_timestamp <= now_ms + config.timestamp_after_max_ms
        and attributes & _CODEC_MASK <= Compression.ZSTD
    ):
        return header, records
    return _validate_content(header, records, config, now_ms, log_name)


def _read_single_batch(records: Buffer) -> BatchHeader:
    """The header of the one batch that a produce request (version 3 and later) must hold for a partition.

    Bytes after it that form no whole batch are ignored, as by Kafka's reader.
    """
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
        raise NotOneBatch(ErrorCode.CORRUPT_MESSAGE, message, shown=True)
    if remain <= _MAGIC_AT:
        return None
    magic = records[start + _MAGIC_AT]
    if magic > MAGIC:
        message = f"Invalid magic found in record: {magic - 256 if magic > 127 else magic}"
        raise NotOneBatch(ErrorCode.CORRUPT_MESSAGE, message, shown=True)
    size: int = LOG_OVERHEAD + length
    return size if size <= remain else None


def _not_one(message: str) -> NotOneBatch:
    return NotOneBatch(ErrorCode.INVALID_RECORD, message)


def _check_client_batch(header: BatchHeader) -> None:
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
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise _invalid(
            f"Invalid sequence number {header.base_sequence} in record batch with producerId {header.producer_id}"
        )


def _validate_content(
    header: BatchHeader, records: Buffer, config: LogConfig, now_ms: int, log_name: str
) -> tuple[BatchHeader, Buffer]:
    """Validate the records of the batch, and change it as the topic's settings require."""
    try:
        source = compression_of(header.attributes)
    except WireError as error:
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, str(error)) from None
    target = _target_codec(config, source)
    if target is source and not _must_decode(header, config, now_ms):
        return _stamp(header, records, config, now_ms, header.max_timestamp)
    try:
        decoded = decode_records(records, header=header)
    except WireError as error:
        raise _invalid(str(error)) from None
    _check_records(header, decoded, config, now_ms, log_name)
    consecutive = all(record.offset == header.base_offset + number for number, record in enumerate(decoded))
    if target is source and (consecutive or source is Compression.NONE):
        return _stamp(header, records, config, now_ms, max(record.timestamp for record in decoded))
    return _recompress(header, decoded, target, config, now_ms)


def _target_codec(config: LogConfig, source: Compression) -> Compression:
    name = config.compression_type
    if name == "producer":
        return source
    return Compression.NONE if name == "uncompressed" else Compression[name.upper()]


def _must_decode(header: BatchHeader, config: LogConfig, now_ms: int) -> bool:
    """Whether the records must be decoded to validate the batch."""
    if config.compact or header.attributes & TIMESTAMP_TYPE_BIT:
        return True
    if config.log_append_time:
        return False
    if header.max_timestamp > now_ms + config.timestamp_after_max_ms or header.max_timestamp < header.base_timestamp:
        return True
    earliest = now_ms - config.timestamp_before_max_ms
    return header.base_timestamp < earliest or (header.record_count > 1 and earliest > 0)


def _check_records(header: BatchHeader, decoded: list[Record], config: LogConfig, now_ms: int, log_name: str) -> None:
    """Check keys and timestamps. Raises RecordsRejected with every record that breaks a rule."""
    earliest = now_ms - config.timestamp_before_max_ms
    latest = now_ms + config.timestamp_after_max_ms
    errors: list[tuple[int, str]] = []
    code = ErrorCode.INVALID_RECORD
    for index, record in enumerate(decoded):
        if config.compact and record.key is None:
            errors.append((index, f"Compacted topic cannot accept message without key in topic partition {log_name}"))
        elif not config.log_append_time and record.timestamp != NO_TIMESTAMP:
            if not earliest <= record.timestamp <= latest:
                code = ErrorCode.INVALID_TIMESTAMP
                why = f"Timestamp {record.timestamp} of message with offset {record.offset} is out of range."
                errors.append((index, f"{why} The timestamp should be within [{earliest}, {latest}]"))
        elif header.attributes & TIMESTAMP_TYPE_BIT:
            code = ErrorCode.INVALID_TIMESTAMP
            errors.append((index, "Producer should not set timestamp type to LogAppendTime."))
    if not errors:
        return
    if code is ErrorCode.INVALID_TIMESTAMP:
        message = "One or more records have been rejected due to invalid timestamp"
    else:
        shown = ", ".join(f"RecordError(batchIndex={index}, message='{why}')" for index, why in errors[:_SHOWN_ERRORS])
        message = (
            f"One or more records have been rejected due to {len(errors)} record errors in total, and only showing "
            f"the first three errors at most: [{shown}]"
        )
    raise RecordsRejected(code, message, errors)


def _stamp(
    header: BatchHeader, records: Buffer, config: LogConfig, now_ms: int, max_timestamp: int
) -> tuple[BatchHeader, Buffer]:
    """Set the batch's timestamps where they differ; records stay unchanged, compressed or not."""
    if config.log_append_time:
        kind, max_timestamp = TimestampType.LOG_APPEND_TIME, now_ms
    else:
        kind = TimestampType.CREATE_TIME
    if header.max_timestamp == max_timestamp and header.timestamp_type is kind:
        return header, records
    writable = writable_bytes(records)
    patch_timestamps(writable, 0, header.size, kind, max_timestamp)
    return read_batch_header(writable), writable


def _recompress(
    header: BatchHeader, decoded: list[Record], codec: Compression, config: LogConfig, now_ms: int
) -> tuple[BatchHeader, Buffer]:
    for number, record in enumerate(decoded):
        record.offset = number
        if config.log_append_time:
            record.timestamp = now_ms
    data = bytearray(
        encode_batch(
            decoded,
            compression=codec,
            level=compression_level(config, codec),
            timestamp_type=TimestampType.LOG_APPEND_TIME if config.log_append_time else TimestampType.CREATE_TIME,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            transactional=header.is_transactional,
        )
    )
    if len(data) > config.max_message_bytes:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"Message batch size is {len(data)} bytes which exceeds the maximum configured size of "
            f"{config.max_message_bytes}.",
        )
    return read_batch_header(data), data


def compression_level(config: LogConfig, codec: Compression) -> int | None:
    """The compression level of a codec in the topic's settings (KIP-390); None if the codec has none."""
    levels = {
        Compression.GZIP: config.compression_gzip_level,
        Compression.LZ4: config.compression_lz4_level,
        Compression.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)


def writable_bytes(records: Buffer) -> bytearray | memoryview:
    """``records`` itself if it can be patched in place, else a copy."""
    if isinstance(records, bytearray) or (isinstance(records, memoryview) and not records.readonly):
        return records
    return bytearray(records)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, message)
