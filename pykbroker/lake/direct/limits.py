"""Where the records of batches begin and end.

Each record says only how long it is, so one is found by the one before it. Two things make that quick. Batches do not depend on
each other, so a step is taken in all of them at once. And a large batch is cut where a record seems to begin: whether one does is
known when those before it end exactly there, and where they do not, every batch is walked through record by record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pykbroker.lake.direct.guessing import guessed_beginnings
from pykbroker.lake.direct.varints import Bytes, Cursor, Numbers
from pykbroker.wire.batch_header import BatchHeader
from pykbroker.wire.errors import WireError

_MANY = 128
"""From so many places on, a step in all of them at once is cheaper than Python's steps in each."""

_SMALLEST_RECORD = 7
"""Bytes: length, attributes, two deltas, key length, value length, header count."""

Limits = tuple[Numbers, Numbers]


def record_limits(data: bytes, headers: Sequence[BatchHeader], sizes: Sequence[int]) -> Limits:
    """Of each record where its attributes are and where it ends. ``data`` has the records of the batches one after the other, so many
    bytes of each, and LOOK_AHEAD. Raises WireError where a batch does not hold its records.
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
    """None where it turns out that a guess was wrong, or a batch is damaged."""
    octets = np.frombuffer(data, np.uint8)
    try:
        inner = guessed_beginnings(octets, begins, ends, counts)
        lanes = np.unique(np.concatenate([begins, inner, ends[-1:]]))
        return _side_by_side(data, octets, lanes[:-1], lanes[1:])
    except (WireError, IndexError):
        return None


def _side_by_side(data: bytes, octets: Bytes, at: Numbers, limits: Numbers) -> Limits:
    """From record to record in all lanes at once; who has come to the end of a lane drops out."""
    starts: list[Numbers] = []
    afters: list[Numbers] = []
    while at.size >= _MANY:
        cursor = Cursor(octets, at)
        length = cursor.number()
        at = cursor.at + length
        left = limits - at
        if length.min() < 0 or left.min() < 0:
            raise WireError("a record reaches beyond its lane")
        starts.append(cursor.at)
        afters.append(at)
        if not left.all():
            at, limits = at[left > 0], limits[left > 0]
    last_starts, last_afters = _walked(data, at, limits)
    return np.sort(np.concatenate([*starts, last_starts])), np.sort(np.concatenate([*afters, last_afters]))


def _walked(data: bytes, begins: Numbers, limits: Numbers) -> Limits:
    """From record to record in one lane after the other."""
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
