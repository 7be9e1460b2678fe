"""Record batches into Arrow's columns, a chunk of many batches at a time: the hot loop of the direct source.

Records follow each other by their lengths, so these are read one after the other, of many batches side by side; numpy then reads
each field of all records at once, and Arrow gathers keys and values out of the one buffer that holds the chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pykbroker.wire.batch_header import BatchHeader, TimestampType
from pykbroker.wire.errors import WireError

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]

_LOOK_AHEAD = b"\0" * 16
"""Behind the chunk, so that reading a number near its end stays inside."""
_MANY = 64
"""From so many batches on, a step over all of them at once is cheaper than Python's steps over each."""
_LONGEST = 10
"""Bytes of a varlong."""
HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))


@dataclass(frozen=True, slots=True)
class Decoded:
    """Records in the order of the batches. ``headers`` is null where a record has none, as in Spark's Kafka source."""

    offsets: Numbers
    timestamps_ms: Numbers
    timestamp_types: Numbers
    keys: pa.Array
    values: pa.Array
    headers: pa.Array | None


def decode(batches: Sequence[tuple[BatchHeader, bytes]], *, headers: bool) -> Decoded:
    """The records of batches that come with their decompressed records. Raises WireError where these are malformed."""
    data = b"".join([*(payload for _, payload in batches), _LOOK_AHEAD])
    try:
        return _decode(data, batches, headers=headers)
    except IndexError:
        raise WireError("a record reaches beyond its batch") from None


def _decode(data: bytes, batches: Sequence[tuple[BatchHeader, bytes]], *, headers: bool) -> Decoded:
    starts, ends = _records(data, batches)
    counts = np.array([header.record_count for header, _ in batches], np.int64)
    cursor = _Cursor(np.frombuffer(data, np.uint8), starts + 1)  # the attributes of a record have no meaning
    deltas = cursor.number()
    offsets = np.repeat(np.array([header.base_offset for header, _ in batches], np.int64), counts) + cursor.number()
    keys = cursor.stretch()
    values = cursor.stretch()
    header_counts = cursor.number()
    buffer = pa.py_buffer(data)
    pairs = _headers(cursor, header_counts, buffer) if header_counts.any() else None
    if not np.array_equal(cursor.at, ends):
        raise WireError("the fields of a record do not fill it")
    types, timestamps = _timestamps(batches, counts, deltas)
    columns = [keys.gathered(buffer), values.gathered(buffer)]
    if pairs is None and headers:
        pairs = pa.nulls(len(starts), HEADERS)
    return Decoded(offsets, timestamps, types, columns[0], columns[1], pairs if headers else None)


def _records(data: bytes, batches: Sequence[tuple[BatchHeader, bytes]]) -> tuple[Numbers, Numbers]:
    """Of each record where its attributes are and where it ends. Each way is the faster one for what it is given."""
    if len(batches) >= _MANY:
        return _records_of_many(data, batches)
    starts: list[int] = []
    ends: list[int] = []
    pos = 0
    for header, payload in batches:
        end = pos + len(payload)
        before = len(starts)
        pos = _walk(data, pos, end, starts, ends)
        if pos != end or len(starts) - before != header.record_count:
            raise _miscounted(header)
    return np.array(starts, np.int64), np.array(ends, np.int64)


def _walk(data: bytes, pos: int, end: int, starts: list[int], ends: list[int]) -> int:
    """From record to record of one batch; where it came to."""
    add_start, add_end = starts.append, ends.append
    while pos < end:
        if (length := data[pos]) < 128:
            pos += 1
        elif (high := data[pos + 1]) < 128:
            length = length & 127 | high << 7
            pos += 2
        else:
            length, pos = _long_length(data, pos)
        add_start(pos)
        pos += length >> 1
        add_end(pos)
    return pos


def _records_of_many(data: bytes, batches: Sequence[tuple[BatchHeader, bytes]]) -> tuple[Numbers, Numbers]:
    """From record to record of all batches at once, those with the most records first, so that the others drop out behind."""
    counts = np.array([header.record_count for header, _ in batches], np.int64)
    sizes = np.array([len(payload) for _, payload in batches], np.int64)
    if counts.min() < 0 or (counts > sizes).any():
        raise _miscounted(batches[int(np.argmax((counts < 0) | (counts > sizes)))][0])
    order = np.argsort(-counts, kind="stable")
    first = (np.cumsum(counts) - counts)[order]
    batch_ends = np.cumsum(sizes)
    cursor = _Cursor(np.frombuffer(data, np.uint8), (batch_ends - sizes)[order])
    starts, ends = np.empty(counts.sum(), np.int64), np.empty(counts.sum(), np.int64)
    after = cursor.at.copy()
    numbers: Any = -np.arange(counts.max(initial=0))
    having: Any = np.searchsorted(-counts[order], numbers)  # how many have a record of that number
    for number, live in enumerate(having.tolist()):
        cursor.at = after[:live]
        length = cursor.number()
        if length.min() < 0:
            raise WireError("the length of a record is negative")
        places = first[:live] + number
        starts[places] = cursor.at
        after[:live] = ends[places] = cursor.at + length
    wrong = np.flatnonzero(after != batch_ends[order])
    if wrong.size:
        raise _miscounted(batches[int(order[wrong[0]])][0])
    return starts, ends


def _miscounted(header: BatchHeader) -> WireError:
    return WireError(f"the batch at offset {header.base_offset} does not hold its {header.record_count} records")


def _long_length(data: bytes, pos: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        byte = data[pos]
        pos += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, pos
    raise WireError("the length of a record takes more than five bytes")


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Of each record where some of its bytes lie; a negative length is null."""

    at: Numbers
    length: Numbers

    def gathered(self, buffer: pa.Buffer, kind: pa.DataType | None = None) -> pa.Array:
        """Copied out by Arrow: of an array over the whole chunk, in which what lies between is an element too, every second."""
        count = len(self.at)
        nulls = self.length < 0
        if not count or nulls.all():
            return pa.nulls(count, kind or pa.binary())
        limits: Any = np.empty((count, 2), np.int32)
        limits[:, 0] = self.at
        limits[:, 1] = self.at + np.maximum(self.length, 0)
        everything = pa.Array.from_buffers(
            kind or pa.binary(), 2 * count - 1, [None, pa.py_buffer(limits), buffer], null_count=0
        )
        return everything.take(pa.array(np.arange(0, 2 * count, 2), mask=nulls if nulls.any() else None))


class _Cursor:
    """A place in each of many records; what is read, is read of all of them."""

    def __init__(self, data: np.ndarray[tuple[int], np.dtype[np.uint8]], at: Numbers) -> None:
        self.data = data
        self.at = at

    def number(self) -> Numbers:
        """A varint or varlong in zigzag (KIP-98)."""
        byte = self.data[self.at]
        self.at = self.at + 1
        value = (byte & 127).astype(np.uint64)
        more = np.flatnonzero(byte >= 128)
        for shift in range(7, 7 * _LONGEST, 7):
            if not more.size:
                break
            byte = self.data[self.at[more]]
            value[more] |= (byte & 127).astype(np.uint64) << np.uint64(shift)
            self.at[more] += 1
            more = more[byte >= 128]
        if more.size:
            raise WireError("a number takes more than ten bytes")
        sign = (value & np.uint64(1)).astype(np.int64)
        return (value >> np.uint64(1)).astype(np.int64) ^ -sign

    def stretch(self) -> _Stretch:
        """A length, and so many bytes."""
        length = self.number()
        found = _Stretch(self.at, length)
        if length.size and (length.min() < -1 or length.max() > len(self.data)):
            raise WireError("a length is negative, or larger than the batch")
        self.at = self.at + np.maximum(length, 0)
        return found


def _headers(cursor: _Cursor, counts: Numbers, buffer: pa.Buffer) -> pa.Array:
    """All headers as one array of pairs, and of each record a part of it: the first header of all records that have one,
    then the second of all that have two, and so on.
    """
    if counts.min() < 0 or counts.max() > len(cursor.data):
        raise WireError("a number of headers is negative, or larger than the batch")
    ends = np.cumsum(counts)
    if ends[-1] > len(cursor.data):
        raise WireError("there are more headers than bytes")
    first = ends - counts
    keys, values = (_Stretch(np.empty(ends[-1], np.int64), np.empty(ends[-1], np.int64)) for _ in range(2))
    having = np.flatnonzero(counts)
    number = 0
    while having.size:
        inner = _Cursor(cursor.data, cursor.at[having])
        for target in (keys, values):
            found = inner.stretch()
            target.at[first[having] + number] = found.at
            target.length[first[having] + number] = found.length
        cursor.at[having] = inner.at
        number += 1
        having = having[counts[having] > number]
    if keys.length.min() < 0:
        raise WireError("the key of a header is null")
    pairs = pa.StructArray.from_arrays([keys.gathered(buffer, pa.string()), values.gathered(buffer)], ["key", "value"])
    limits = np.concatenate([[0], ends]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(limits), pairs, HEADERS, mask=pa.array(counts == 0))


def _timestamps(
    batches: Sequence[tuple[BatchHeader, bytes]], counts: Numbers, deltas: Numbers
) -> tuple[Numbers, Numbers]:
    """With LogAppendTime a batch's largest timestamp is that of each of its records."""
    appended = np.array([header.timestamp_type is TimestampType.LOG_APPEND_TIME for header, _ in batches])
    base = np.array([header.base_timestamp for header, _ in batches], np.int64)
    largest = np.array([header.max_timestamp for header, _ in batches], np.int64)
    types: Numbers = np.repeat(appended.astype(np.int64), counts)
    created = np.repeat(base, counts) + deltas
    return types, np.where(types == 1, np.repeat(largest, counts), created) if appended.any() else created
