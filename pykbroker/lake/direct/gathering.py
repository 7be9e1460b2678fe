"""Bytes that lie all over a chunk, as Arrow's columns: keys, values and headers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pykbroker.lake.direct.varints import Cursor, Numbers
from pykbroker.wire.errors import WireError

HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))


@dataclass(frozen=True, slots=True)
class Stretches:
    """Of each record where some of its bytes lie; a negative length is null."""

    at: Numbers
    length: Numbers

    def gathered(self, buffer: pa.Buffer, kind: pa.DataType | None = None) -> pa.Array:
        """Copied out by Arrow: of an array over the whole chunk, in which what lies between is an element too, every second."""
        count = len(self.at)
        nulls = self.length < 0
        if nulls.all():
            return pa.nulls(count, kind or pa.binary())
        limits: Any = np.empty((count, 2), np.int32)
        limits[:, 0] = self.at
        limits[:, 1] = self.at + np.maximum(self.length, 0)
        everything = pa.Array.from_buffers(
            kind or pa.binary(), 2 * count - 1, [None, pa.py_buffer(limits), buffer], null_count=0
        )
        return everything.take(pa.array(np.arange(0, 2 * count, 2), mask=nulls if nulls.any() else None))


def gathered_headers(cursor: Cursor, counts: Numbers, buffer: pa.Buffer) -> pa.Array:
    """All headers as one array of pairs, and of each record a part of it; null where a record has none, as in Spark's Kafka source."""
    keys, values = _stretches(cursor, counts)
    pairs = pa.StructArray.from_arrays([_text(keys.gathered(buffer)), values.gathered(buffer)], ["key", "value"])
    limits = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(limits), pairs, HEADERS, mask=pa.array(counts == 0))


def _stretches(cursor: Cursor, counts: Numbers) -> tuple[Stretches, Stretches]:
    """Keys and values: the first header of all records that have one, then the second of all that have two, and so on."""
    ends = np.cumsum(counts)
    if counts.min() < 0 or counts.max() > len(cursor.data) or ends[-1] > len(cursor.data):
        raise WireError("a number of headers is negative, or larger than the batch")
    first = ends - counts
    keys, values = (Stretches(np.empty(ends[-1], np.int64), np.empty(ends[-1], np.int64)) for _ in range(2))
    having = np.flatnonzero(counts)
    number = 0
    while having.size:
        inner = Cursor(cursor.data, cursor.at[having])
        for target in (keys, values):
            places = first[having] + number
            target.at[places], target.length[places] = inner.stretch()
        cursor.at[having] = inner.at
        number += 1
        having = having[counts[having] > number]
    if keys.length.min() < 0:
        raise WireError("the key of a header is null")
    return keys, values


def _text(keys: pa.Array) -> pa.Array:
    """What is no UTF-8 is replaced, as Kafka's Java client replaces it."""
    text = keys.view(pa.string())
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())
    return text
