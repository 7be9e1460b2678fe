"""Guesses positions in large batches at which a record begins. They may be wrong: the caller checks them.

The attributes byte of every record is zero, which text does not contain. The record's length precedes it. A position is taken if the
fields after it fill the record, and those of the next record fill that one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pykbroker.lake.direct.varints import INT64_BITS, LOOK_AHEAD, Bytes, Cursor, Numbers

_APART = 64
"""Records between two guesses."""
_WINDOW = 2
"""Each is searched within the average size of this many records,"""
_WIDEST = 4096
"""but not in more bytes than this: then there are only few records."""


def guessed_beginnings(data: Bytes, begins: Numbers, ends: Numbers, counts: Numbers) -> Numbers:
    """Positions at which records seem to begin, in any order. The batches lie from ``begins`` to ``ends`` and have ``counts`` records."""
    aims = _aims(begins, ends, counts)
    width = _WINDOW * int((ends - begins).sum() // max(1, counts.sum()))
    aims = aims[aims + width + LOOK_AHEAD < len(data)]
    if width > _WIDEST or not aims.size:
        return aims[:0]
    windows = np.lib.stride_tricks.sliding_window_view(data, width)[aims]
    number, place = np.divmod(np.flatnonzero(windows == 0), width)
    candidates = _before_attributes(data, aims[number] + place)
    good = _followed_by_another(data, candidates)
    _, first = np.unique(number[good], return_index=True)
    return candidates[good[first]]


def _aims(begins: Numbers, ends: Numbers, counts: Numbers) -> Numbers:
    """Positions about ``_APART`` records apart, in batches that have more records than that."""
    parts: Any = np.maximum(counts // _APART, 1)
    part = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    aims = np.repeat(begins, parts) + part * np.repeat((ends - begins) // parts, parts)
    return aims[part > 0]


def _before_attributes(data: Bytes, zeros: Numbers) -> Numbers:
    """The first byte of a length that ends just before each of these positions: up to two more bytes with the continuation bit."""
    at: Any = zeros - 1
    at = at - (goes_on := data[at - 1] >= 128)
    return at - (goes_on & (data[at - 1] >= 128))


def _followed_by_another(data: Bytes, candidates: Numbers) -> Any:
    """The indexes of those candidates at which two records in a row seem to lie."""
    left = np.arange(len(candidates))
    at = candidates
    for _ in range(2):
        good, after = _filled(data, at)
        left, at = left[good], after[good]
    return left


def _filled(data: Bytes, at: Numbers) -> tuple[Any, Numbers]:
    """Whether a record begins there whose fields fill it, and its end. Of the headers only their number is read."""
    last = len(data) - LOOK_AHEAD
    cursor = _Candidate(data, at)
    length = cursor.number()
    end = cursor.at + length
    good = (data[cursor.at] == 0) & (length > 0) & (end < last)
    cursor.at = cursor.at + 1
    cursor.number(INT64_BITS)
    cursor.number()
    for _ in ("key", "value"):
        cursor.stretch()
        cursor.at = np.minimum(cursor.at, last)
    headers = data[cursor.at]
    rest = end - cursor.at
    return good & np.where(headers == 0, rest == 1, rest > 1), end


class _Candidate(Cursor):
    """Reads bytes that may be no varint."""

    __slots__ = ()

    def _too_long(self, bits: int) -> None:
        pass
