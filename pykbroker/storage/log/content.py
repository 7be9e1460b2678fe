"""Reads the records of a batch before a leader appends it, and writes them anew where a topic's settings require it.

The rules are those of Kafka's LogValidator (4.4.0). Records are passed over one by one, so a batch needs the memory of some pieces
of it, however much it holds decompressed; one that is written anew is compressed as it is read. So all of this may run in a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pykbroker.storage.log.batches import writable_bytes
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.lengths import check_lengths
from pykbroker.storage.log.rejections import RecordsRejected
from pykbroker.wire.batch_header import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    BatchHeader,
    TimestampType,
    patch_timestamps,
    read_batch_header,
    write_batch_header,
)
from pykbroker.wire.compression import Compression, compression_of, compressor
from pykbroker.wire.errors import ErrorCode, KafkaError, TooMuchContent, WireError
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.record_walk import RecordWalk
from pykbroker.wire.records import write_varint

_SHOWN_ERRORS = 3
#: The most records of a batch that an answer names: the batch may have millions, each with a sentence.
MOST_RECORD_ERRORS = 1000
#: Records between two calls of ``breathe``: some tenths of a millisecond.
_BREATHE_EVERY = 256
#: Bytes of small records that are given to the codec at once.
_GIVEN_AT_ONCE = 32 * 1024


def must_read(header: BatchHeader, config: LogConfig, now_ms: int) -> bool:
    """Whether the records must be read to validate the batch. Raises KafkaError UNSUPPORTED_COMPRESSION_TYPE."""
    source = _source_codec(header)
    if _target_codec(config, source) is not source or config.validate_records:
        return True
    if source is not Compression.NONE and config.limits_decompressed:
        return True
    if config.compact or header.attributes & TIMESTAMP_TYPE_BIT:
        return True
    if config.log_append_time:
        return False
    if header.max_timestamp > now_ms + config.timestamp_after_max_ms or header.max_timestamp < header.base_timestamp:
        return True
    earliest = now_ms - config.timestamp_before_max_ms
    return header.base_timestamp < earliest or (header.record_count > 1 and earliest > 0)


def read_content(
    header: BatchHeader,
    records: Buffer,
    config: LogConfig,
    now_ms: int,
    log_name: str,
    *,
    max_bytes: int | None = None,
    max_held: int = 2**31 - 1,
    breathe: Callable[[], None] | None = None,
) -> tuple[BatchHeader, Buffer]:
    """Check the records of a batch, and change it as the topic's settings require; returns its header and bytes.

    A batch that is written anew has each of its records in memory, which may have ``max_held`` bytes. ``breathe`` is called every
    few tenths of a millisecond. Raises TooMuchContent beyond ``max_bytes`` decompressed, and KafkaError: INVALID_RECORD,
    MESSAGE_TOO_LARGE, RecordsRejected.
    """
    limit = config.max_decompressed_message_bytes
    source = _source_codec(header)
    target = _target_codec(config, source)
    try:
        walk = RecordWalk(records, header, max_record_bytes=limit, max_bytes=max_bytes)
        seen = _check(walk, header, config, now_ms, log_name, breathe)
        if target is source and (seen.consecutive or source is Compression.NONE):
            return stamp(header, records, config, now_ms, seen.max_timestamp)
        walk = RecordWalk(records, header, max_record_bytes=min(limit, max_held), max_bytes=max_bytes, whole=True)
        return _rewritten(walk, header, target, config, now_ms, breathe)
    except TooMuchContent:
        if max_bytes is None:  # a block of snappy beyond all limits
            raise KafkaError(ErrorCode.INVALID_RECORD, "The batch holds too much") from None
        raise
    except WireError as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, str(error)) from None


def read_lengths(
    header: BatchHeader, records: Buffer, config: LogConfig, now_ms: int, breathe: Callable[[], None]
) -> tuple[BatchHeader, Buffer]:
    """As ``read_content`` for an uncompressed batch of which nothing but the records' lengths is to be read. Raises KafkaError
    INVALID_RECORD.
    """
    check_lengths(header, records, breathe)
    return stamp(header, records, config, now_ms, header.max_timestamp)


def _source_codec(header: BatchHeader) -> Compression:
    try:
        return compression_of(header.attributes)
    except WireError as error:
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, str(error)) from None


def _target_codec(config: LogConfig, source: Compression) -> Compression:
    name = config.compression_type
    if name == "producer":
        return source
    return Compression.NONE if name == "uncompressed" else Compression[name.upper()]


class _Seen(NamedTuple):
    """What the records of a valid batch have in common: ``consecutive`` if they are numbered from 0 without a gap."""

    max_timestamp: int
    consecutive: bool


def _check(
    walk: RecordWalk,
    header: BatchHeader,
    config: LogConfig,
    now_ms: int,
    log_name: str,
    breathe: Callable[[], None] | None,
) -> _Seen:
    """Check keys and timestamps. Raises RecordsRejected with the records that break a rule."""
    earliest = now_ms - config.timestamp_before_max_ms
    latest = now_ms + config.timestamp_after_max_ms
    marked = bool(header.attributes & TIMESTAMP_TYPE_BIT)
    checks_time = not config.log_append_time
    errors: list[tuple[int, str]] = []
    broken, code = 0, ErrorCode.INVALID_RECORD
    largest, consecutive = NO_TIMESTAMP, True
    for index, (delta, timestamp, has_key, _) in enumerate(walk.records()):
        if breathe is not None and not index % _BREATHE_EVERY:
            breathe()
        largest = max(largest, timestamp)
        consecutive = consecutive and delta == index
        if config.compact and not has_key:
            why = f"Compacted topic cannot accept message without key in topic partition {log_name}"
        elif checks_time and timestamp != NO_TIMESTAMP:
            if earliest <= timestamp <= latest:
                continue
            code = ErrorCode.INVALID_TIMESTAMP
            why = (
                f"Timestamp {timestamp} of message with offset {header.base_offset + delta} is out of range. "
                f"The timestamp should be within [{earliest}, {latest}]"
            )
        elif marked:
            code = ErrorCode.INVALID_TIMESTAMP
            why = "Producer should not set timestamp type to LogAppendTime."
        else:
            continue
        broken += 1
        if broken <= MOST_RECORD_ERRORS:
            errors.append((index, why))
    if broken:
        raise rejected(code, broken, errors)
    return _Seen(largest, consecutive)


def rejected(code: ErrorCode, broken: int, errors: list[tuple[int, str]]) -> RecordsRejected:
    """The refusal of a batch of which ``broken`` records break a rule; ``errors`` are index and reason of the first ones."""
    if code is ErrorCode.INVALID_TIMESTAMP:
        message = "One or more records have been rejected due to invalid timestamp"
    else:
        shown = ", ".join(f"RecordError(batchIndex={index}, message='{why}')" for index, why in errors[:_SHOWN_ERRORS])
        message = (
            f"One or more records have been rejected due to {broken} record errors in total, and only showing "
            f"the first three errors at most: [{shown}]"
        )
    return RecordsRejected(code, message, errors)


def stamp(
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


def _rewritten(
    walk: RecordWalk,
    header: BatchHeader,
    codec: Compression,
    config: LogConfig,
    now_ms: int,
    breathe: Callable[[], None] | None,
) -> tuple[BatchHeader, Buffer]:
    """The batch with its records numbered from 0, compressed by ``codec``."""
    packer = compressor(codec, compression_level(config, codec))
    data = bytearray(HEADER_SIZE)
    plain = bytearray()
    base = largest = now_ms if config.log_append_time else NO_TIMESTAMP
    for number, record in enumerate(walk.records()):
        if breathe is not None and not number % _BREATHE_EVERY:
            breathe()
        timestamp = now_ms if config.log_append_time else record.timestamp
        if not number:
            base = timestamp
        largest = max(largest, timestamp)
        start = bytearray(1)
        write_varint(start, timestamp - base)
        write_varint(start, number)
        write_varint(plain, len(start) + len(record.rest))
        plain += start
        plain += record.rest
        if len(plain) >= _GIVEN_AT_ONCE:
            data += packer.compress(bytes(plain))
            plain.clear()
            _check_size(data, config)
    data += packer.compress(bytes(plain))
    data += packer.flush()
    _check_size(data, config)
    new = BatchHeader(
        base_offset=0,
        batch_length=len(data) - LOG_OVERHEAD,
        partition_leader_epoch=NO_LEADER_EPOCH,
        magic=MAGIC,
        crc=0,
        attributes=codec
        | (TIMESTAMP_TYPE_BIT if config.log_append_time else 0)
        | (TRANSACTIONAL_BIT if header.is_transactional else 0),
        last_offset_delta=header.record_count - 1,
        base_timestamp=base,
        max_timestamp=largest,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        record_count=header.record_count,
    )
    write_batch_header(data, 0, new)
    return read_batch_header(data), data


def _check_size(data: bytearray, config: LogConfig) -> None:
    if len(data) > config.max_message_bytes:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"Message batch size is {len(data)} bytes which exceeds the maximum configured size of "
            f"{config.max_message_bytes}.",
        )


def compression_level(config: LogConfig, codec: Compression) -> int | None:
    """The compression level of a codec in the topic's settings (KIP-390); None if the codec has none."""
    levels = {
        Compression.GZIP: config.compression_gzip_level,
        Compression.LZ4: config.compression_lz4_level,
        Compression.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)
