"""Places in large batches at which a record seems to begin. They may be wrong, and are cheap: who uses them can tell.

The attributes of every record are a zero, which what people write has nowhere else. Before it stands the record's length, and
what follows it must fill the record, and another one behind that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pykbroker.lake.direct.varints import INT64_BITS, LOOK_AHEAD, Bytes, Cursor, Numbers

_APART = 64
"""Records between two guesses."""
_WINDOW = 2
"""Each is looked for among so many records' bytes,"""
_WIDEST = 4096
"""and not at all where that is more: then the records are few."""


def guessed_beginnings(data: Bytes, begins: Numbers, ends: Numbers, counts: Numbers) -> Numbers:
    """Some of the positions at which records begin, for batches from ``begins`` to ``ends``, in any order."""
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
    """Positions about as many records apart as guesses are wanted, inside of the batches that have more than that."""
    parts: Any = np.maximum(counts // _APART, 1)
    part = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    aims = np.repeat(begins, parts) + part * np.repeat((ends - begins) // parts, parts)
    return aims[part > 0]


def _before_attributes(data: Bytes, zeros: Numbers) -> Numbers:
    """Where a length would begin that ends before these places: it takes all bytes before its last that say that more follow."""
    at: Any = zeros - 1
    at = at - (goes_on := data[at - 1] >= 128)
    return at - (goes_on & (data[at - 1] >= 128))


def _followed_by_another(data: Bytes, candidates: Numbers) -> Any:
    """Which of these places may be where a record begins, and the next one behind it."""
    left = np.arange(len(candidates))
    at = candidates
    for _ in range(2):
        good, after = _filled(data, at)
        left, at = left[good], after[good]
    return left


def _filled(data: Bytes, at: Numbers) -> tuple[Any, Numbers]:
    """Whether a record begins there whose fields fill it, and where it ends. Of headers only their number is looked at."""
    last = len(data) - LOOK_AHEAD
    cursor = _Guess(data, at)
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


class _Guess(Cursor):
    """Reads what may be no number at all."""

    __slots__ = ()

    def _too_long(self, bits: int) -> None:
        pass
