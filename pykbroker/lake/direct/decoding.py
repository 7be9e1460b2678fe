"""Decodes record batches into Arrow columns, a chunk of many batches at a time: the hot loop of the direct source.

First the limits of all records are found (``record_boundaries``). Then numpy reads each field of all records at once (``varints``), and Arrow
gathers keys and values from the one buffer that holds the chunk (``arrow_columns``). Columns that were not requested are not gathered.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pykbroker.lake.direct.arrow_columns import Headers, Stretches, read_headers
from pykbroker.lake.direct.record_boundaries import record_limits
from pykbroker.lake.direct.varints import INT64_BITS, LOOK_AHEAD, Cursor, Numbers
from pykbroker.wire.batch_header import BatchHeader, TimestampType
from pykbroker.wire.errors import WireError

CONTENT = frozenset({"key", "value", "headers"})
"""Columns of bytes, which are gathered only on request."""


@dataclass(frozen=True, slots=True)
class DecodedRecords:
    """Records in the order of the batches. ``content`` has the requested ones of the columns key, value and headers."""

    offsets: Numbers
    timestamps_ms: Numbers
    timestamp_types: Numbers
    content: dict[str, pa.Array]

    def part(self, first: int, end: int) -> DecodedRecords:
        """The records from index ``first`` up to, not including, ``end``."""
        if end - first == len(self.offsets):
            return self
        content = {name: each[first:end] for name, each in self.content.items()}
        return DecodedRecords(
            self.offsets[first:end], self.timestamps_ms[first:end], self.timestamp_types[first:end], content
        )


def decode(batches: Sequence[tuple[BatchHeader, bytes]], columns: Collection[str] = CONTENT) -> DecodedRecords:
    """Decode batches, given as headers with their decompressed records. Raises WireError for malformed records."""
    data = b"".join([*(payload for _, payload in batches), bytes(LOOK_AHEAD)])
    try:
        return _decode(data, batches, columns)
    except IndexError:
        raise WireError("a record reaches beyond its batch") from None


def from_headers(headers: Sequence[BatchHeader]) -> DecodedRecords:
    """The records of batches without missing offsets, from the headers alone: all but their CreateTime."""
    counts = _of_each(headers, "record_count")
    before = np.cumsum(counts) - counts
    offsets = np.arange(counts.sum()) + np.repeat(_of_each(headers, "base_offset") - before, counts)
    types, timestamps = _appended(headers, counts, np.zeros(len(offsets), np.int64))
    return DecodedRecords(offsets, timestamps, types, {})


def _decode(data: bytes, batches: Sequence[tuple[BatchHeader, bytes]], columns: Collection[str]) -> DecodedRecords:
    headers = [header for header, _ in batches]
    starts, ends = record_limits(data, headers, [len(payload) for _, payload in batches])
    counts = _of_each(headers, "record_count")
    if len(starts) != counts.sum():
        raise WireError("a batch has another number of records than its header says")
    cursor = Cursor(np.frombuffer(data, np.uint8), starts + 1)  # the attributes of a record have no meaning
    created = _created(headers, counts, cursor.number(INT64_BITS))
    offsets = np.repeat(_of_each(headers, "base_offset"), counts) + cursor.number()
    content = _content(cursor, ends, pa.py_buffer(data), columns)
    types, timestamps = _appended(headers, counts, created)
    return DecodedRecords(offsets, timestamps, types, content)


def _content(cursor: Cursor, ends: Numbers, buffer: pa.Buffer, columns: Collection[str]) -> dict[str, pa.Array]:
    """Every field is read, requested or not: the fields must fill their record exactly."""
    key, value = (Stretches(*cursor.stretch()) for _ in range(2))
    fields: dict[str, Stretches | Headers] = {"key": key, "value": value, "headers": read_headers(cursor)}
    if not np.array_equal(cursor.at, ends):
        raise WireError("the fields of a record do not fill it")
    return {name: field.gathered(buffer) for name, field in fields.items() if name in columns}


def _of_each(headers: Sequence[BatchHeader], field: str) -> Numbers:
    return np.array([getattr(header, field) for header in headers], np.int64)


def _created(headers: Sequence[BatchHeader], counts: Numbers, deltas: Numbers) -> Numbers:
    base: Numbers = np.repeat(_of_each(headers, "base_timestamp"), counts)
    created = base + deltas
    if ((base ^ created) & (deltas ^ created)).min(initial=0) < 0:
        raise WireError("a record's timestamp does not fit 64 bits")
    return created


def _appended(headers: Sequence[BatchHeader], counts: Numbers, created: Numbers) -> tuple[Numbers, Numbers]:
    """The timestamp types and timestamps. With LogAppendTime, the batch's max timestamp is that of each record."""
    appended = np.array([header.timestamp_type is TimestampType.LOG_APPEND_TIME for header in headers], bool)
    types: Any = np.repeat(appended.astype(np.int32), counts)
    if not appended.any():
        return types, created
    return types, np.where(types == 1, np.repeat(_of_each(headers, "max_timestamp"), counts), created)
