"""Reads the small files beside a log (indexes, producer snapshots, checkpoints, properties) as rows of tables."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pykbroker.cli.dump_log import mapped
from pykbroker.client.errors import ClientError
from pykbroker.wire.crc import crc32c

Rows = list[dict[str, Any]]

_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_TXN_ENTRY = struct.Struct(">hqqqq")
_SNAPSHOT_HEAD = struct.Struct(">hIi")
_SNAPSHOT_ENTRY = struct.Struct(">qhiqiqiq")
_SNAPSHOT_CRC_FROM = 6
_SNAPSHOT_FIELDS = (
    "producer_id",
    "producer_epoch",
    "last_sequence",
    "last_offset",
    "offset_delta",
    "timestamp",
    "coordinator_epoch",
    "current_txn_first_offset",
)


def base_offset_of(path: Path) -> int:
    """Return the base offset in a segment file's name. Raises ClientError for a name without one."""
    digits = path.name.split(".")[0].split("-")[0]
    if not digits.isdecimal():
        raise ClientError(f"{path}: the name of a segment's file begins with its base offset in digits.")
    return int(digits)


def offset_index(path: Path) -> Rows:
    """Read ``.index``: offsets with the positions of their batches in the log."""
    base = base_offset_of(path)
    return [{"offset": base + relative, "position": position} for relative, position in _entries(path, _OFFSET_ENTRY)]


def time_index(path: Path) -> Rows:
    """Read ``.timeindex``: largest timestamps so far, with the offsets of their records."""
    base = base_offset_of(path)
    return [{"timestamp": timestamp, "offset": base + relative} for timestamp, relative in _entries(path, _TIME_ENTRY)]


def transaction_index(path: Path) -> Rows:
    """Read ``.txnindex``: aborted transactions."""
    names = ("version", "producer_id", "first_offset", "last_offset", "last_stable_offset")
    return [dict(zip(names, entry, strict=True)) for entry in _entries(path, _TXN_ENTRY)]


def producer_snapshot(path: Path) -> Rows:
    """Read ``.snapshot``: the state of idempotent producers. Raises ClientError if it is damaged."""
    data = path.read_bytes()
    if len(data) < _SNAPSHOT_HEAD.size:
        raise ClientError(f"{path}: {len(data)} bytes are too few for a producer snapshot.")
    version, crc, count = _SNAPSHOT_HEAD.unpack_from(data)
    if version != 1:
        raise ClientError(f"{path}: a producer snapshot of version {version}; only version 1 is known.")
    if crc32c(data[_SNAPSHOT_CRC_FROM:]) != crc:
        raise ClientError(f"{path}: the CRC of the producer snapshot is wrong.")
    if len(data) != _SNAPSHOT_HEAD.size + count * _SNAPSHOT_ENTRY.size:
        raise ClientError(f"{path}: {count} producers do not fit {len(data)} bytes.")
    entries = _SNAPSHOT_ENTRY.iter_unpack(data[_SNAPSHOT_HEAD.size :])
    return [dict(zip(_SNAPSHOT_FIELDS, entry, strict=True)) for entry in entries]


def checkpoint(path: Path) -> Rows:
    """Read a checkpoint file: its version, its number of lines, then one line per entry."""
    lines = path.read_text().splitlines()
    if not lines:  # Kafka creates some files empty and fills them later
        return []
    names = ("epoch", "start_offset") if path.name == "leader-epoch-checkpoint" else ("topic", "partition", "offset")
    try:
        version, count = int(lines[0]), int(lines[1])
        rows = [dict(zip(names, line.split(), strict=True)) for line in lines[2:]]
        whole = [{k: v if k == "topic" else int(v) for k, v in row.items()} for row in rows]
    except (ValueError, IndexError) as error:
        raise ClientError(f"{path}: this is not a checkpoint file ({error}).") from error
    if version != 0 or count != len(whole):
        raise ClientError(f"{path}: version {version} with {len(whole)} lines; its header says {count}.")
    return whole


def properties(path: Path) -> Rows:
    """Read ``meta.properties`` or ``partition.metadata``: names and values."""
    rows = []
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            separator = min((at for at in (line.find("="), line.find(":")) if at >= 0), default=len(line))
            rows.append({"name": line[:separator].strip(), "value": line[separator + 1 :].strip()})
    return rows


def json_object(path: Path) -> Rows:
    """Read ``quorum-state`` or the clean shutdown marker: a JSON object's names and values."""
    try:
        found = json.loads(path.read_text() or "{}")
        return [{"name": name, "value": json.dumps(value)} for name, value in found.items()]
    except (ValueError, AttributeError) as error:
        raise ClientError(f"{path}: this is not a JSON object ({error}).") from error


TABLES: dict[str, Callable[[Path], Rows]] = {
    ".index": offset_index,
    ".timeindex": time_index,
    ".txnindex": transaction_index,
    ".snapshot": producer_snapshot,
    "-checkpoint": checkpoint,
    "meta.properties": properties,
    "partition.metadata": properties,
    "quorum-state": json_object,
    ".kafka_cleanshutdown": json_object,
}
"""Readers by how a file's name ends."""


def _entries(path: Path, layout: struct.Struct) -> list[tuple[int, ...]]:
    """Yield fixed-size entries; Kafka preallocates index files, so trailing zeros are not entries."""
    with mapped(path) as data:
        whole = bytes(data[: len(data) - len(data) % layout.size])
    entries = list(layout.iter_unpack(whole))
    while entries and not any(entries[-1]):
        entries.pop()
    return entries
