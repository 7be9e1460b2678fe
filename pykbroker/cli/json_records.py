"""Records as JSON objects, one a line: what ``consume --json`` prints and ``produce --json`` reads.

    {"topic": "t", "partition": 0, "offset": 5, "timestamp": 1769868000000, "key": "k", "value": "v",
     "headers": [{"key": "h", "value": "x"}]}

Bytes that are not UTF-8 stand as base64 under ``key_base64`` or ``value_base64``. What is read is read strictly: a
misspelt ``value`` would otherwise be a tombstone.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from difflib import get_close_matches
from math import isinf
from typing import Any, NoReturn

from pykbroker.cli.output import harmless
from pykbroker.cli.trouble import BadLine
from pykbroker.wire.records import NO_TIMESTAMP, Header, Record

NO_PARTITION = -1
_LARGEST_PARTITION, _LARGEST_TIMESTAMP = 2**31 - 1, 2**63 - 1

_FIELDS = ("topic", "partition", "offset", "timestamp", "key", "key_base64", "value", "value_base64", "headers")
_HEADER_FIELDS = ("key", "value", "value_base64")
_SHAPES = {str: "a string", list: "a list", dict: "an object", bool: "true or false", type(None): "null"}
_EXAMPLE = '{"key": "k", "value": "v"}'
_HEADER_EXAMPLE = '{"key": ..., "value": ...}'


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

    Raises BadLine, which says what is wrong, for anything that is not such an object.
    """
    found = _parse(line)
    if not isinstance(found, dict):
        raise BadLine(f"{_shape(found)}, not an object such as {_EXAMPLE}: {harmless(line)}")
    _check_fields(found, _FIELDS, "")
    record = Record(
        timestamp=_number(found, "timestamp", _LARGEST_TIMESTAMP, "milliseconds since 1970"),
        key=_bytes(found, "key"),
        value=_required(found, f'there is no value; a tombstone has "value": null: {harmless(line)}'),
        headers=_headers(found.get("headers")),
    )
    partition = _number(found, "partition", _LARGEST_PARTITION, "a partition's number")
    if record.timestamp == NO_TIMESTAMP:
        record.timestamp = now_ms
    return record, None if partition == NO_PARTITION else partition


def _parse(line: bytes) -> Any:
    if not line.strip():
        raise BadLine("the line is empty")
    try:
        return json.loads(line.decode("utf-8-sig"), parse_constant=_no_number, parse_float=_float)
    except json.JSONDecodeError as error:
        reason = f"{error.msg[:1].lower()}{error.msg[1:]} at character {error.colno}"
    except UnicodeDecodeError:
        reason = "not UTF-8"
    except RecursionError:
        reason = "nested too deeply"
    except ValueError as error:  # a number that Python does not take
        reason = str(error)
    raise BadLine(f"not JSON ({reason}): {harmless(line)}")


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def _float(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise ValueError(f"{text} is too large a number")
    return number


def _check_fields(found: Iterable[str], known: tuple[str, ...], where: str) -> None:
    for name in found:
        if name not in known:
            close = get_close_matches(name.lower(), known, 1)
            advice = f'did you mean "{close[0]}"?' if close else f"there are {', '.join(known)}"
            raise BadLine(f"there is no field {json.dumps(name)}{where}; {advice}")


def _field(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}


def _bytes(found: dict[str, Any], name: str) -> bytes | None:
    """A field's bytes; a value that is not a string is taken as JSON, so that objects can be written as they are."""
    encoded_name = f"{name}_base64"
    if encoded_name in found:
        if name in found:
            raise BadLine(f"{name} and {encoded_name} are both there")
        encoded = found[encoded_name]
        try:
            return None if encoded is None else base64.b64decode(_string(encoded, encoded_name), validate=True)
        except ValueError as error:
            raise BadLine(f"{encoded_name} is not base64") from error
    value = found.get(name)
    if value is None:
        return None
    return _encode(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), name)


def _required(found: dict[str, Any], otherwise: str) -> bytes | None:
    """The value, which must be there, as null where null is meant."""
    if "value" not in found and "value_base64" not in found:
        raise BadLine(otherwise)
    return _bytes(found, "value")


def _headers(found: Any) -> list[Header]:
    if found is None:
        return []
    if not isinstance(found, list):
        raise BadLine(f"headers is {_shape(found)}, not a list of {_HEADER_EXAMPLE}")
    return [_header(item) for item in found]


def _header(found: Any) -> Header:
    if not isinstance(found, dict):
        raise BadLine(f"a header is {_shape(found)}, not {_HEADER_EXAMPLE}")
    _check_fields(found, _HEADER_FIELDS, " in a header")
    if "key" not in found:
        raise BadLine("a header has no key")
    key = _string(found["key"], "a header's key")
    _encode(key, "a header's key", "surrogateescape")  # as keys that are not UTF-8 are read and written
    return key, _required(found, "a header has no value; null is a value too")


def _encode(text: str, name: str, errors: str = "strict") -> bytes:
    try:
        return text.encode("utf-8", errors)
    except UnicodeEncodeError as error:
        raise BadLine(f"{name} has half of a surrogate pair") from error


def _string(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise BadLine(f"{name} is {_shape(value)}, not a string")
    return value


def _number(found: dict[str, Any], name: str, largest: int, meaning: str) -> int:
    """A whole number; -1 where there is none."""
    value = found.get(name)
    if value is None:
        return -1
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadLine(f"{name} is {_shape(value)}, not {meaning}")
    if not -1 <= value <= largest:
        raise BadLine(f"{name} is {value}, not {meaning}")
    return value


def _shape(value: object) -> str:
    if isinstance(value, float):
        return "a number with a fraction"
    return _SHAPES.get(type(value), "a number")
