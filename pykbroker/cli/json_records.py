"""Records as JSON lines: printed by ``consume --json``, read by ``produce --json`` (``seeding/plain_records.py``)."""

from __future__ import annotations

from typing import Any

from pykbroker.cli.input_lines import BadLine
from pykbroker.cli.output import harmless
from pykbroker.seeding.json_text import parse
from pykbroker.seeding.plain_records import record_as_plain, record_from_plain
from pykbroker.seeding.seed import Misfit
from pykbroker.wire.records import Record


def record_as_json(topic: str, partition: int, record: Record) -> dict[str, Any]:
    """Return the JSON object of a record that was read."""
    where = {"topic": topic, "partition": partition, "offset": record.offset, "timestamp": record.timestamp}
    return where | record_as_plain(record.key, record.value, record.headers)


def record_from_json(line: bytes, *, now_ms: int) -> tuple[Record, int | None]:
    """Parse the record on a line, with its partition or None; topic and offset are ignored.

    Raises BadLine, with the reason, for any other text.
    """
    try:
        found = record_from_plain(parse(line))
    except Misfit as misfit:
        quoted = "" if misfit.path else f": {harmless(line)}"
        raise BadLine(f"{misfit.why}{quoted if line.strip() else ''}") from misfit
    timestamp = now_ms if found.timestamp is None else found.timestamp
    return Record(timestamp=timestamp, key=found.key, value=found.value, headers=found.headers), found.partition
