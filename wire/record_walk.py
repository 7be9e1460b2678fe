"""Walks over the records of a batch without holding them: what a broker checks and changes, in the memory of a few pieces.

A batch of 8 KB may hold one record of 250 MiB, or half a million small ones. ``RecordWalk`` decompresses it piece by piece, and
skips keys and values; with ``whole`` it hands over the bytes of each record, for writing them again. ``decode_one_by_one`` decodes
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pykbroker.wire.batch_header import HEADER_SIZE, BatchHeader, TimestampType
from pykbroker.wire.compression import Compression, decompressed_pieces
from pykbroker.wire.errors import TooMuchContent, WireError
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import Record, read_content, read_unsigned_varint

_INT64_MIN = -(2**63)
_INT64_MAX = 2**63 - 1
#: Most bytes of a record before its key: length, attributes, two deltas, and the key's length.
_BEFORE_KEY = 5 + 1 + 10 + 5 + 5
#: Larger records are skipped piece by piece, unless the whole of them is wanted.
_HELD = 64 * 1024


class RecordTooLarge(WireError):
    """A record is larger decompressed than the caller takes."""


class Walked(NamedTuple):
    """One record. ``rest`` is what follows the offset delta, and empty unless the walk hands over whole records."""

    offset_delta: int
    timestamp: int
    has_key: bool
    rest: bytes


class RecordWalk:
    """One pass over the records of a complete batch, whose CRC is not checked.

    ``max_record_bytes`` limits each record of a compressed batch, as Kafka's max.decompressed.message.bytes does. ``records``
    raises RecordTooLarge for one beyond it, before memory is allocated, TooMuchContent once the whole is larger than
    ``max_bytes`` decompressed (None is no limit), and WireError if the batch is malformed.
    """

    __slots__ = ("_data", "_header", "_largest", "_pieces", "_pos", "_whole")

    def __init__(
        self,
        batch: Buffer,
        header: BatchHeader,
        *,
        max_record_bytes: int = 2**31 - 1,
        max_bytes: int | None = None,
        whole: bool = False,
    ) -> None:
        if header.size != len(batch):
            raise WireError(f"the batch says it has {header.size} bytes and has {len(batch)}")
        payload = memoryview(batch)[HEADER_SIZE:]
        self._header = header
        self._pieces: Iterator[bytes] = (
            iter((bytes(payload),))
            if header.compression is Compression.NONE
            else decompressed_pieces(header.compression, payload)
            if payload or header.record_count
            else iter(())
        )
        if max_bytes is not None:
            self._pieces = _bounded(self._pieces, max_bytes)
        self._largest = 2**31 - 1 if header.compression is Compression.NONE else max_record_bytes
        self._whole = whole
        self._data = b""
        self._pos = 0

    def records(self) -> Iterator[Walked]:
        """Yield each record, once the whole of it is found to be well-formed."""
        header = self._header
        if header.record_count < 0:
            raise WireError(f"a batch of {header.record_count} records")
        fixed = header.max_timestamp if header.timestamp_type is TimestampType.LOG_APPEND_TIME else None
        try:
            for _ in range(header.record_count):
                found = self._next(header.base_timestamp, fixed)
                yield found
        except IndexError:
            raise WireError("the records end too early") from None
        remaining = len(self._data) - self._pos + sum(map(len, self._pieces))
        if remaining:
            raise WireError(f"{remaining} bytes remain after the last of {header.record_count} records")

    def _next(self, base_timestamp: int, fixed: int | None) -> Walked:
        """The next record; n >> 1 ^ -(n & 1) undoes zigzag. Varints of one byte, which most are, cost no call."""
        if len(self._data) - self._pos < _BEFORE_KEY:
            self._fill(_BEFORE_KEY)
        data, pos = self._data, self._pos
        if (length := data[pos]) < 128:
            pos += 1
        else:
            length, pos = read_unsigned_varint(data, pos)
        length = (length >> 1) ^ -(length & 1)
        if length > self._largest:
            raise RecordTooLarge(f"a record of {length} bytes, where {self._largest} are allowed")
        end = pos + length
        if end > len(data) and (self._whole or length <= _HELD):
            self._pos = pos
            self._fill(length)
            data, pos = self._data, self._pos
            end = pos + length
            if end > len(data):
                raise IndexError
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
        rest = data[pos:end] if self._whole else b""
        if (size := data[pos]) < 128:
            pos += 1
        else:
            size, pos = read_unsigned_varint(data, pos)
        has_key = not size & 1
        if end > len(data):
            self._pass_large(pos, end - pos, size)
            return Walked((delta >> 1) ^ -(delta & 1), timestamp if fixed is None else fixed, has_key, rest)
        if has_key:
            pos += size >> 1
        if (size := data[pos]) < 128:
            pos += 1
        else:
            size, pos = read_unsigned_varint(data, pos)
        if not size & 1:
            pos += size >> 1
        if data[pos] == 0:
            pos += 1
        else:
            pos = _after_headers(data, pos, end)
        if pos != end:
            raise WireError(f"a record ends {abs(end - pos)} bytes {'early' if pos < end else 'late'}")
        self._pos = pos
        return Walked((delta >> 1) ^ -(delta & 1), timestamp if fixed is None else fixed, has_key, rest)

    def _fill(self, needed: int) -> None:
        """Have ``needed`` bytes at the position, or all that are left."""
        parts = [self._data[self._pos :]]
        have = len(parts[0])
        while have < needed:
            piece = next(self._pieces, None)
            if piece is None:
                break
            parts.append(piece)
            have += len(piece)
        self._data, self._pos = b"".join(parts), 0

    # ---- records that are larger than what is held -----------------------------------------------------------------------

    def _pass_large(self, pos: int, left: int, key_size: int) -> None:
        """Pass the ``left`` bytes of a record from its key on, at ``pos``."""
        self._pos = pos
        if not key_size & 1:
            left = self._skip(key_size >> 1, left)
        size, left = self._varint(left)
        if size >= 0:
            left = self._skip(size, left)
        count, left = self._varint(left)
        if not 0 <= count <= left:
            raise WireError(f"{count} record headers where {left} bytes remain")
        for _ in range(count):
            size, left = self._varint(left)
            if size < 0:
                raise WireError(f"a header key of {size} bytes where {left} remain")
            left = self._skip(size, left)
            size, left = self._varint(left)
            if size >= 0:
                left = self._skip(size, left)
        if left:
            raise WireError(f"a record ends {left} bytes early")

    def _varint(self, left: int) -> tuple[int, int]:
        if len(self._data) - self._pos < 5:
            self._fill(5)
        before = self._pos
        value, self._pos = read_unsigned_varint(self._data, before)
        return (value >> 1) ^ -(value & 1), left - (self._pos - before)

    def _skip(self, count: int, left: int) -> int:
        if count > left:
            raise WireError(f"a record ends {count - left} bytes late")
        here = len(self._data) - self._pos
        ahead = count
        while ahead > here:
            ahead -= here
            self._data, self._pos = next(self._pieces, b""), 0
            here = len(self._data)
            if not here:
                raise IndexError
        self._pos += ahead
        return left - count


def decode_one_by_one(batch: Buffer, header: BatchHeader, *, max_record_bytes: int = 2**31 - 1) -> Iterator[Record]:
    """The records of a complete batch, decoded in the memory of one of them and of some pieces. ``max_record_bytes`` and errors as
    of ``RecordWalk``.
    """
    walk = RecordWalk(batch, header, max_record_bytes=max_record_bytes, whole=True)
    base = header.base_offset
    for offset_delta, timestamp, _, rest in walk.records():
        key, value, headers = read_content(rest)
        yield Record(base + offset_delta, timestamp, key, value, headers)


def _bounded(pieces: Iterator[bytes], most: int) -> Iterator[bytes]:
    room = most
    for piece in pieces:
        room -= len(piece)
        if room < 0:
            raise TooMuchContent(f"compressed data holds more than {most} bytes")
        yield piece


def _after_headers(data: bytes, pos: int, end: int) -> int:
    """The position after the headers at ``pos``, of a record that ends at ``end``."""
    count, pos = read_unsigned_varint(data, pos)
    count = (count >> 1) ^ -(count & 1)
    if not 0 <= count <= end - pos:
        raise WireError(f"{count} record headers where {end - pos} bytes remain")
    for _ in range(count):
        size, pos = read_unsigned_varint(data, pos)
        if size & 1 or size >> 1 > end - pos:
            raise WireError(f"a header key of {(size >> 1) ^ -(size & 1)} bytes where {end - pos} remain")
        pos += size >> 1
        size, pos = read_unsigned_varint(data, pos)
        if not size & 1:
            pos += size >> 1
    return pos
