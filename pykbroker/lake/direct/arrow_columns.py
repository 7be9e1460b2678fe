"""Builds Arrow columns (keys, values, headers) from bytes scattered over a chunk."""

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
    """A position and a length for each record; a negative length is null."""

    at: Numbers
    length: Numbers

    def gathered(self, buffer: pa.Buffer, kind: pa.DataType | None = None) -> pa.Array:
        """The bytes as an Arrow array. Arrow copies every second element of an array over the whole chunk, in which the gaps are elements
        too. It does not check bounds: all stretches must be known to lie inside the buffer.
        """
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


@dataclass(frozen=True, slots=True)
class Headers:
    """The number of headers of each record, and the positions of all their keys and values."""

    counts: Numbers
    keys: Stretches
    values: Stretches

    def gathered(self, buffer: pa.Buffer) -> pa.Array:
        """A list of pairs for each record; null for a record without headers, as in Spark's Kafka source."""
        if not self.counts.any():
            return pa.nulls(len(self.counts), HEADERS)
        keys, values = _text(self.keys.gathered(buffer)), self.values.gathered(buffer)
        pairs = pa.StructArray.from_arrays([keys, values], ["key", "value"])
        limits = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(limits), pairs, HEADERS, mask=pa.array(self.counts == 0))


def read_headers(cursor: Cursor) -> Headers:
    """Read the first header of all records that have one, then the second of all that have two, and so on. Raises WireError for an
    impossible number or a null key. The caller checks that they end where their records do before it gathers anything.
    """
    counts = cursor.number()
    if not counts.any():
        nothing = Stretches(counts[:0], counts[:0])
        return Headers(counts, nothing, nothing)
    ends = np.cumsum(counts)
    if counts.min() < 0 or counts.max() > len(cursor.data) or ends[-1] > len(cursor.data):
        raise WireError("a number of headers is negative, or larger than the batch")
    first = ends - counts
    total = int(ends[-1])
    keys, values = (Stretches(np.empty(total, np.int64), np.empty(total, np.int64)) for _ in range(2))
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
    return Headers(counts, keys, values)


def _text(keys: pa.Array) -> pa.Array:
    """Invalid UTF-8 is replaced as Kafka's Java client replaces it."""
    text = keys.view(pa.string())
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())
    return text
