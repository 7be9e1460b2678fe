"""Checks a segment: its batches, its records, and its indexes against them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from pykbroker.cli.dump_log import BatchAt, batches, mapped
from pykbroker.cli.dump_tables import base_offset_of, offset_index, time_index
from pykbroker.wire.errors import WireError


@dataclass
class _IndexedBatches:
    """What the indexes are compared with, collected batch by batch."""

    positions: dict[int, tuple[int, int]] = field(default_factory=dict)  # position: first and last offset
    last_offsets: list[int] = field(default_factory=list)
    max_timestamps: list[int] = field(default_factory=list)


def faults(log: Path) -> Iterator[str]:
    """Yield a sentence for each fault of the segment ``log``."""
    seen = _IndexedBatches()
    expected = base_offset_of(log)
    with mapped(log) as data:
        try:
            for batch in batches(data):
                header = batch.header
                where = f"{log.name}: the batch at position {batch.position}"
                if header.base_offset < expected:
                    yield f"{where} begins at offset {header.base_offset}, where {expected} or more must follow"
                expected = header.last_offset + 1
                if not batch.crc_ok():
                    yield f"{where} has a wrong CRC"
                else:
                    for fault in _record_faults(batch):
                        yield f"{where} {fault}"
                seen.positions[batch.position] = (header.base_offset, header.last_offset)
                seen.last_offsets.append(header.last_offset)
                seen.max_timestamps.append(header.max_timestamp)
        except WireError as error:
            yield f"{log.name}: {error}"
    yield from _offset_index_faults(log.with_suffix(".index"), seen)
    yield from _time_index_faults(log.with_suffix(".timeindex"), seen)


def _record_faults(batch: BatchAt) -> Iterator[str]:
    header = batch.header
    try:
        records = batch.records()
    except WireError as error:
        yield f"cannot be read: {error}"
        return
    for before, after in pairwise(records):
        if after.offset <= before.offset:
            yield f"has offset {after.offset} after {before.offset}"
    for record in records:
        if not header.base_offset <= record.offset <= header.last_offset:
            yield f"has offset {record.offset} outside {header.base_offset} to {header.last_offset}"
    latest = max((record.timestamp for record in records), default=header.max_timestamp)
    if latest > header.max_timestamp:
        yield f"has a record later than its max timestamp {header.max_timestamp}"


def _offset_index_faults(index: Path, seen: _IndexedBatches) -> Iterator[str]:
    if not index.exists():
        return
    entries = offset_index(index)
    for before, after in pairwise(entries):
        if after["offset"] <= before["offset"] or after["position"] <= before["position"]:
            yield f"{index.name}: entry {after} does not come after {before}"
    for entry in entries:
        first, last = seen.positions.get(entry["position"], (0, -1))
        if not first <= entry["offset"] <= last:
            yield f"{index.name}: no batch with offset {entry['offset']} begins at position {entry['position']}"


def _time_index_faults(index: Path, seen: _IndexedBatches) -> Iterator[str]:
    if not index.exists():
        return
    entries = time_index(index)
    for before, after in pairwise(entries):
        if after["timestamp"] < before["timestamp"] or after["offset"] < before["offset"]:
            yield f"{index.name}: entry {after} does not come after {before}"
    for entry in entries:
        place = bisect_left(seen.last_offsets, entry["offset"])
        if place == len(seen.last_offsets):
            yield f"{index.name}: offset {entry['offset']} is not in the log"
        elif seen.max_timestamps[place] != entry["timestamp"]:
            yield (
                f"{index.name}: the batch with offset {entry['offset']} has max timestamp "
                f"{seen.max_timestamps[place]}, not {entry['timestamp']}"
            )
