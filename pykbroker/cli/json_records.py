"""Records as JSON objects, one a line: what ``consume --json`` prints and ``produce --json`` reads (``seeding/plain.py``)."""

from __future__ import annotations

from typing import Any

from pykbroker.cli.output import harmless
from pykbroker.cli.trouble import BadLine
from pykbroker.seeding.json_text import parse
from pykbroker.seeding.plain import record_as_plain, record_from_plain
from pykbroker.seeding.seed import Misfit
from pykbroker.wire.records import Record


def record_as_json(topic: str, partition: int, record: Record) -> dict[str, Any]:
    """The object for a record that was read."""
    where = {"topic": topic, "partition": partition, "offset": record.offset, "timestamp": record.timestamp}
    return where | record_as_plain(record.key, record.value, record.headers)


def record_from_json(line: bytes, *, now_ms: int) -> tuple[Record, int | None]:
    """The record on a line, and its partition where it names one; topic and offset are not looked at.

    Raises BadLine, which says what is wrong, for anything that is not such an object.
    """
    try:
        found = record_from_plain(parse(line))
    except Misfit as misfit:
        quoted = "" if misfit.path else f": {harmless(line)}"
        raise BadLine(f"{misfit.why}{quoted if line.strip() else ''}") from misfit
    timestamp = now_ms if found.timestamp is None else found.timestamp
    return Record(timestamp=timestamp, key=found.key, value=found.value, headers=found.headers), found.partition
