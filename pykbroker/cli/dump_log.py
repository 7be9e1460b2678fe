"""Reads the batches and records of a ``.log`` file, or of a snapshot of the metadata log."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pykbroker.cli.json_records import record_as_json
from pykbroker.cli.output import counted
from pykbroker.cli.times import format_ms
from pykbroker.client.internal_records import meaning
from pykbroker.runtime.escaping import escaped
from pykbroker.wire.errors import WireError
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import BatchHeader, Record, batch_crc_ok, decode_records, read_batch_header


@contextmanager
def mapped(path: Path) -> Iterator[memoryview]:
    """Yield the content of a file, memory-mapped."""
    with path.open("rb") as file:
        if path.stat().st_size == 0:  # an empty file cannot be mapped
            yield memoryview(b"")
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data, memoryview(data) as view:
            yield view


@dataclass
class BatchAt:
    """A batch and its position in the file. ``data`` is valid while the file is mapped."""

    position: int
    header: BatchHeader
    data: memoryview

    def crc_ok(self) -> bool:
        return batch_crc_ok(self.data, 0, self.header.size)

    def records(self) -> list[Record]:
        """Return the batch's records. Raises WireError."""
        return decode_records(self.data, header=self.header)


def batches(data: memoryview) -> Iterator[BatchAt]:
    """Yield the batches in order. Raises WireError, with the position, at bytes that are not a batch."""
    position = 0
    while position < len(data):
        try:
            header = read_batch_header(data, position)
        except WireError as error:
            raise WireError(f"at position {position}: {error}") from error
        end = position + header.size
        if end > len(data):
            raise WireError(
                f"at position {position}: a batch of {header.size} bytes where {len(data) - position} remain, a torn tail"
            )
        with data[position:end] as batch:
            yield BatchAt(position, header, batch)
        position = end


def topic_of(path: Path) -> tuple[str, int]:
    """Return topic and partition from the folder's name; that name alone if it is not a partition's folder."""
    name, _, number = path.resolve().parent.name.rpartition("-")
    return (name, int(number)) if name and number.isdecimal() else (path.resolve().parent.name, -1)


def batch_as_json(batch: BatchAt) -> dict[str, Any]:
    """Return a batch's header as JSON."""
    header = batch.header
    return {
        "position": batch.position,
        "size": header.size,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "records": header.record_count,
        "leader_epoch": header.partition_leader_epoch,
        "compression": _codec(header),
        "timestamp_type": header.timestamp_type.name,
        "base_timestamp": header.base_timestamp,
        "max_timestamp": header.max_timestamp,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "delete_horizon": header.base_timestamp if header.has_delete_horizon else None,
        "crc_ok": batch.crc_ok(),
    }


def batch_as_text(batch: BatchAt) -> str:
    """Return a batch's header as a line of text."""
    header = batch.header
    parts = [
        f"offsets {header.base_offset}-{header.last_offset}",
        f"position {batch.position}",
        counted(header.size, "byte"),
        counted(header.record_count, "record"),
        _codec(header),
        f"{'appended' if header.timestamp_type else 'up to'} {format_ms(header.max_timestamp)}",
        f"leader epoch {header.partition_leader_epoch}",
    ]
    if header.has_producer_id:
        parts.append(f"producer {header.producer_id} epoch {header.producer_epoch} sequence {header.base_sequence}")
    parts += ["transactional"] * header.is_transactional + ["control"] * header.is_control
    if header.has_delete_horizon:
        parts.append(f"tombstones go after {format_ms(header.base_timestamp)}")
    if not batch.crc_ok():
        parts.append("CRC WRONG")
    return ", ".join(parts)


def record_as_dump(path: Path, record: Record, *, control: bool) -> dict[str, Any]:
    """Return a record as JSON, decoded if it belongs to an internal topic."""
    topic, partition = topic_of(path)
    shown = record_as_json(topic, partition, record)
    try:
        told = meaning(topic, record, control=control)
    except WireError as error:
        return shown | {"unreadable": str(error)}
    if told is None:
        return shown
    return {"offset": record.offset, "timestamp": record.timestamp, **told}


def record_as_text(path: Path, record: Record, *, control: bool) -> str:
    """Return a record as a line of text."""
    shown = record_as_dump(path, record, control=control)
    start = f"  {record.offset}  {format_ms(record.timestamp)}  "
    if "type" in shown:
        key = f" {_fields(shown['key'])}" if shown["key"] is not None else ""
        value = "deleted" if shown["value"] is None else _fields(shown["value"])
        return f"{start}{shown['type']}{key}: {value}" if key else f"{start}{shown['type']} {value}"
    text = f"{start}{_text(record.key)}: {_text(record.value)}"
    if record.headers:
        text += "  headers " + ", ".join(f"{key}={_text(value)}" for key, value in record.headers)
    if "unreadable" in shown:
        text += f"  (unreadable: {shown['unreadable']})"
    return text


def _codec(header: BatchHeader) -> str:
    try:
        return header.compression.name.lower()
    except WireError as error:
        return str(error)


def _fields(fields: dict[str, Any]) -> str:
    return " ".join(f"{name}={value!r}" for name, value in fields.items())


def _text(data: Buffer | None) -> str:
    """Return bytes as text without control characters."""
    if data is None:
        return "null"
    return escaped(bytes(data).decode("utf-8", "backslashreplace"))
