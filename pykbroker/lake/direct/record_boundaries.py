"""Finds the beginning and the end of each record in batches.

A record holds only its length, so each is found from the one before it. Two things make that fast. Batches are independent, so one step is
taken in all of them at once. And a large batch is cut into lanes where a record seems to begin: the guess was right if the record before
it ends exactly there; otherwise all batches are walked record by record.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from pykbroker.lake.direct.record_boundary_search import guessed_beginnings
from pykbroker.lake.direct.varints import Bytes, Cursor, Numbers
from pykbroker.wire.batch_header import BatchHeader
from pykbroker.wire.errors import WireError

_MANY = 48
"""With at least this many lanes, one numpy step in all of them is cheaper than a Python step in each."""
_FAR = -1
"""Marks a length that does not fit into two bytes."""

_SMALLEST_RECORD = 7
"""Bytes: length, attributes, two deltas, key length, value length, header count."""

Limits = tuple[Numbers, Numbers]


def record_limits(data: bytes, headers: Sequence[BatchHeader], sizes: Sequence[int]) -> Limits:
    """For each record the position of its attributes, and its end. ``data`` has the records of all batches, ``sizes`` bytes of each, and
    LOOK_AHEAD more bytes. Raises WireError if a batch does not have as many records as its header says.
    """
    counts = np.array([header.record_count for header in headers], np.int64)
    ends = np.cumsum(np.array(sizes, np.int64))
    begins = np.concatenate([[0], ends[:-1]])
    _check(headers, (counts < 0) | (counts * _SMALLEST_RECORD > ends - begins))
    found = _by_lanes(data, begins, ends, counts) if counts.sum() >= _MANY else None
    starts, afters = found or _walked(data, begins, ends)
    held = np.diff(np.searchsorted(starts, np.concatenate([begins, ends[-1:]])))
    _check(headers, held != counts)
    return starts, afters


def _check(headers: Sequence[BatchHeader], unlike: Any) -> None:
    if unlike.any():
        header = headers[int(unlike.argmax())]
        raise WireError(f"the batch at offset {header.base_offset} does not hold its {header.record_count} records")


def _by_lanes(data: bytes, begins: Numbers, ends: Numbers, counts: Numbers) -> Limits | None:
    """None if a guess was wrong or a batch is damaged."""
    octets = np.frombuffer(data, np.uint8)
    try:
        inner = guessed_beginnings(octets, begins, ends, counts)
        lanes = np.unique(np.concatenate([begins, inner, ends[-1:]]))
        return _side_by_side(data, octets, lanes[:-1], lanes[1:])
    except (WireError, IndexError):
        return None


def _side_by_side(data: bytes, octets: Bytes, at: Numbers, limits: Numbers) -> Limits:
    """Steps from record to record in all lanes at once; a lane drops out at its end."""
    pairs: Any = np.ndarray(len(data) - 1, "<u2", data, strides=1)
    table = _steps()
    begins = [at[:0]]
    while at.size >= _MANY:
        begins.append(at)
        step = table[pairs[at]]
        at = at + (step if step.min() > _FAR else _far_steps(octets, at))
        left = limits - at
        if (nearest := left.min()) <= 0:
            if nearest < 0:
                raise WireError("a record reaches beyond its lane")
            at, limits = at[left > 0], limits[left > 0]
    last_starts, last_afters = _walked(data, at, limits)
    cursor = Cursor(octets, np.concatenate(begins))
    length = cursor.number()
    starts, afters = (np.concatenate(each) for each in ([cursor.at, last_starts], [cursor.at + length, last_afters]))
    return np.sort(starts), np.sort(afters)


@cache
def _steps() -> Any:
    """The distance to the next record, by a record's first two bytes: most records are shorter than 8 KiB."""
    pairs = np.arange(1 << 16)
    first, second = pairs & 255, pairs >> 8
    long = first >= 128
    length = np.where(long, first & 127 | second << 7, first)
    said = (length & 1 == 0) & ~(long & (second >= 128))
    return np.where(said, (length >> 1) + 1 + long, _FAR).astype(np.int16)


def _far_steps(octets: Bytes, at: Numbers) -> Numbers:
    cursor = Cursor(octets, at)
    length = cursor.number()
    if length.min() < 0:
        raise WireError("the length of a record is negative")
    return cursor.at - at + length


def _walked(data: bytes, begins: Numbers, limits: Numbers) -> Limits:
    """Steps from record to record, one lane after the other."""
    starts: list[int] = []
    afters: list[int] = []
    for begin, limit in zip(begins.tolist(), limits.tolist(), strict=True):
        _walk(data, begin, limit, starts, afters)
    return np.array(starts, np.int64), np.array(afters, np.int64)


def _walk(data: bytes, pos: int, end: int, starts: list[int], afters: list[int]) -> None:
    add_start, add_after = starts.append, afters.append
    while pos < end:
        if (length := data[pos]) < 128:
            pos += 1
        elif (high := data[pos + 1]) < 128:
            length = length & 127 | high << 7
            pos += 2
        else:
            length, pos = _long_length(data, pos)
        if length & 1:
            raise WireError("the length of a record is negative")
        add_start(pos)
        pos += length >> 1
        add_after(pos)
    if pos != end:
        raise WireError("a record reaches beyond its batch")


def _long_length(data: bytes, pos: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        byte = data[pos]
        pos += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFF_FFFF, pos
    raise WireError("the length of a record takes more than five bytes")
