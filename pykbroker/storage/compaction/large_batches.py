"""Batches that hold much decompressed, as compaction reads and writes them: record by record, in the memory of one of them.

A batch of 8 KB may hold one record of 250 MiB, or a million small ones. The batches of ``cleaned_batches`` are held as a whole, which is
faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import compress as selected

from pykbroker.storage.log.config import LogConfig
from pykbroker.wire.batch_header import (
    DELETE_HORIZON_BIT,
    HEADER_SIZE,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    BatchHeader,
    TimestampType,
    write_batch_header,
)
from pykbroker.wire.compression import Compression, compressor
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.record_walk import RecordTooLarge, RecordWalk, Walked
from pykbroker.wire.records import read_content, write_varint

#: Larger batches are passed over record by record: most bytes of the content, and most records.
CONTENT_AT_ONCE = 4 * 1024 * 1024
RECORDS_AT_ONCE = 100_000
#: A larger record of a compressed batch is not decompressed as a whole: at least so many bytes, and this part of the cleaner's memory.
_HELD_AT_LEAST = 8 * 1024 * 1024
_HELD_PART = 4
_KEYS_AT_ONCE = 1000
_GIVEN_AT_ONCE = 32 * 1024


class StaysWhole(Exception):
    """The batch has a record that is too large to be held, so none of its records is removed."""


def is_large(header: BatchHeader, config: LogConfig) -> bool:
    """Whether a batch is passed over record by record, whatever it holds: it has many, or max.decompressed.message.bytes is set."""
    return header.record_count > RECORDS_AT_ONCE or (
        header.compression is not Compression.NONE and config.limits_decompressed
    )


class LargeBatch:
    """One batch. Iterating raises StaysWhole, WireError if it is malformed, or RecordTooLarge for a record that is larger than
    max.decompressed.message.bytes (Apache Kafka compacts no such partition either).
    """

    def __init__(self, header: BatchHeader, data: Buffer, config: LogConfig, memory_bytes: int) -> None:
        self._header = header
        self._data = data
        self._config = config
        self._held = max(_HELD_AT_LEAST, memory_bytes // _HELD_PART)

    def some_keys(self) -> Iterator[tuple[list[bytes | None], list[int]]]:
        """The keys of the records, some at a time, with the numbers, within these, of the records without a value."""
        keys: list[bytes | None] = []
        tombstones: list[int] = []
        for walked in self._walked():
            key, value, _ = read_content(walked.rest)
            if value is None:
                tombstones.append(len(keys))
            keys.append(key)
            if len(keys) == _KEYS_AT_ONCE:
                yield keys, tombstones
                keys, tombstones = [], []
        yield keys, tombstones

    def staying(
        self, stays: Callable[[int, bytes | None], bool], *, without_tombstones: bool
    ) -> tuple[bytearray, bool]:
        """Which records stay, one byte for each, and whether any of these has no value."""
        found = bytearray(self._header.record_count)
        has_tombstone = False
        number = 0
        for keys, tombstones in self.some_keys():
            empty = set(tombstones)
            for within, key in enumerate(keys):
                if stays(number, key) and not (without_tombstones and within in empty):
                    found[number] = 1
                    has_tombstone = has_tombstone or within in empty
                number += 1
        return found, has_tombstone

    def written(self, staying: bytearray, horizon_ms: int | None, level: int | None) -> tuple[BatchHeader, bytearray]:
        """The batch with these records, at least one, and with the time from which tombstones may be removed, if one is given."""
        header = self._header
        base = header.base_timestamp if horizon_ms is None else horizon_ms
        packer = compressor(header.compression, level)
        data, plain = bytearray(HEADER_SIZE), bytearray()
        newest = NO_TIMESTAMP
        for walked in selected(self._walked(), staying):
            newest = max(newest, walked.timestamp)
            start = bytearray(1)
            write_varint(start, walked.timestamp - base)
            write_varint(start, walked.offset_delta)
            write_varint(plain, len(start) + len(walked.rest))
            plain += start
            plain += walked.rest
            if len(plain) >= _GIVEN_AT_ONCE:
                data += packer.compress(bytes(plain))
                plain.clear()
        data += packer.compress(bytes(plain))
        data += packer.flush()
        smaller = replace(
            header,
            batch_length=len(data) - LOG_OVERHEAD,
            attributes=header.attributes | (0 if horizon_ms is None else DELETE_HORIZON_BIT),
            record_count=sum(staying),
            base_timestamp=base,
            max_timestamp=newest if header.timestamp_type is TimestampType.CREATE_TIME else header.max_timestamp,
        )
        write_batch_header(data, 0, smaller)
        return smaller, data

    def _walked(self) -> Iterator[Walked]:
        allowed = self._config.max_decompressed_message_bytes
        most = min(allowed, self._held)
        try:
            yield from RecordWalk(self._data, self._header, max_record_bytes=most, whole=True).records()
        except RecordTooLarge as error:
            if most == allowed:
                raise
            raise StaysWhole(str(error)) from None
