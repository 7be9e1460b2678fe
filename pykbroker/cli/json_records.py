"""Records as JSON objects, one a line: what ``consume --json`` prints and ``produce --json`` reads.

    {"topic": "t", "partition": 0, "offset": 5, "timestamp": 1769868000000, "key": "k", "value": "v",
     "headers": [{"key": "h", "value": "x"}]}

Bytes that are not UTF-8 stand as base64 under ``key_base64`` or ``value_base64``.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from pykbroker.cli.trouble import CliError
from pykbroker.wire.records import NO_TIMESTAMP, Header, Record

NO_PARTITION = -1


def record_as_json(topic: str, partition: int, record: Record) -> dict[str, Any]:
    """The object for a record that was read."""
    found: dict[str, Any] = {
        "topic": topic,
        "partition": partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
    }
    found |= _field("key", record.key) | _field("value", record.value)
    found["headers"] = [{"key": key} | _field("value", value) for key, value in record.headers]
    return found


def record_from_json(line: bytes, *, now_ms: int) -> tuple[Record, int | None]:
    """The record on a line, and its partition where it names one; topic and offset are not looked at.

    Raises CliError for anything that is not such an object.
    """
    try:
        found = json.loads(line)
        if not isinstance(found, dict):
            raise TypeError("not an object")
        headers: list[Header] = [(_string(item["key"]), _bytes(item, "value")) for item in found.get("headers") or ()]
        record = Record(
            timestamp=_number(found, "timestamp"),
            key=_bytes(found, "key"),
            value=_bytes(found, "value"),
            headers=headers,
        )
        partition = _number(found, "partition")
    except (ValueError, TypeError, KeyError) as error:
        shown = line[:80].decode("utf-8", "replace")
        raise CliError(f"This line is not a record in JSON ({error}): {shown}") from error
    if record.timestamp == NO_TIMESTAMP:
        record.timestamp = now_ms
    return record, None if partition == NO_PARTITION else partition


def _field(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}


def _bytes(found: dict[str, Any], name: str) -> bytes | None:
    """A field's bytes; a value that is not a string is taken as JSON, so that objects can be written as they are."""
    encoded = found.get(f"{name}_base64")
    if encoded is not None:
        return base64.b64decode(_string(encoded), validate=True)
    value = found.get(name)
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else json.dumps(value, ensure_ascii=False).encode()


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    return value


def _number(found: dict[str, Any], name: str) -> int:
    """A whole number; -1 where there is none."""
    value = found.get(name)
    if value is None:
        return -1
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is not a whole number")
    return value
