"""A record as a plain object, as it stands in JSON and YAML: what ``consume --json`` prints and ``produce --json`` reads.

    {"topic": "t", "partition": 0, "offset": 5, "timestamp": 1769868000000, "key": "k", "value": "v",
     "headers": [{"key": "h", "value": "x"}]}

Bytes that are not UTF-8 stand as base64 under ``key_base64`` or ``value_base64``. What is read is read strictly: a
misspelt ``value`` would otherwise be a tombstone.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from pykbroker.seeding.seed import Misfit, Path
from pykbroker.wire.records import Header

#: In place of a partition or a timestamp: none given.
NONE = -1
_LARGEST_PARTITION, _LARGEST_TIMESTAMP = 2**31 - 1, 2**63 - 1

FIELDS = ("topic", "partition", "offset", "timestamp", "key", "key_base64", "value", "value_base64", "headers")
_HEADER_FIELDS = ("key", "value", "value_base64")
_SHAPES = {str: "a string", list: "a list", dict: "an object", bool: "true or false", type(None): "null"}
EXAMPLE = '{"key": "k", "value": "v"}'
_HEADER_EXAMPLE = '{"key": ..., "value": ...}'
_TIME_EXAMPLE = "2026-01-31T14:20:00Z"


@dataclass(frozen=True, slots=True)
class Written:
    """A scalar of YAML that is not a string: its text, and the value that YAML gives it."""

    text: str
    meaning: Any


class DuplicateField(dict[str, Any]):
    """An object with ``name`` twice."""

    name: str

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, Any]]) -> DuplicateField:
        made = cls(pairs)
        names = [name for name, _ in pairs]
        made.name = next(name for name in names if names.count(name) > 1)
        return made


@dataclass(slots=True)
class ParsedRecord:
    """A parsed record; ``partition`` and ``timestamp`` are None if they are not given."""

    key: bytes | None
    value: bytes | None
    headers: list[Header]
    partition: int | None
    timestamp: int | None


def record_as_plain(key: bytes | None, value: bytes | None, headers: Iterable[Header]) -> dict[str, Any]:
    """Return the object for a record, without topic, partition, offset and timestamp."""
    found: dict[str, Any] = _field("key", key) | _field("value", value)
    found["headers"] = [{"key": name} | _field("value", each) for name, each in headers]
    return found


def record_from_plain(found: Any, path: Path = ()) -> ParsedRecord:
    """Parse a record from an object; topic and offset are ignored. Raises Misfit."""
    if not isinstance(found, dict):
        raise Misfit(path, f"{shape(found)}, not an object such as {EXAMPLE}")
    check_fields(found, FIELDS, "", path)
    partition = _number(found, "partition", _LARGEST_PARTITION, "a partition's number", path)
    timestamp = _timestamp(found, path)
    return ParsedRecord(
        _bytes(found, "key", path),
        _required(found, 'there is no value; a tombstone has "value": null', path),
        _headers(found.get("headers"), (*path, "headers")),
        None if partition == NONE else partition,
        None if timestamp == NONE else timestamp,
    )


def check_fields(found: Iterable[str], known: Sequence[str], where: str, path: Path) -> None:
    """Raises Misfit for an unknown field, with a suggestion."""
    if isinstance(found, DuplicateField):
        raise Misfit((*path, found.name), f"{json.dumps(found.name)} stands there twice")
    for name in found:
        if name not in known:
            close = get_close_matches(str(name).lower(), known, 1)
            advice = f'did you mean "{close[0]}"?' if close else f"there are {', '.join(known)}"
            raise Misfit((*path, name), f"there is no field {json.dumps(str(name))}{where}; {advice}")


def meaning(value: Any) -> Any:
    """Return the value without the notation it was written in."""
    if isinstance(value, Written):
        return value.meaning
    if isinstance(value, dict):
        return {name: meaning(each) for name, each in value.items()}
    if isinstance(value, list):
        return [meaning(each) for each in value]
    return value


def shape(value: Any) -> str:
    """Return the kind of a value, in words."""
    value = meaning(value)
    if isinstance(value, float):
        return "a number with a fraction"
    return _SHAPES.get(type(value), "a number" if isinstance(value, int) else f"a {type(value).__name__}")


def whole_number(value: Any, name: str, largest: int, wanted: str, path: Path) -> int:
    """Return the integer. Raises Misfit for one outside of -1 to ``largest``."""
    value = meaning(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Misfit(path, f"{name} is {shape(value)}, not {wanted}")
    if not NONE <= value <= largest:
        raise Misfit(path, f"{name} is {value}, not {wanted}")
    return value


def _field(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}


def _bytes(found: dict[str, Any], name: str, path: Path) -> bytes | None:
    """Return a field's bytes; a value other than a string is serialized as JSON, so that objects can be given directly."""
    encoded_name = f"{name}_base64"
    if encoded_name in found:
        here = (*path, encoded_name)
        if name in found:
            raise Misfit(here, f"{name} and {encoded_name} are both there")
        encoded = found[encoded_name]
        try:
            return None if encoded is None else base64.b64decode(_string(encoded, encoded_name, here), validate=True)
        except Misfit:
            raise
        except ValueError as error:
            raise Misfit(here, f"{encoded_name} is not base64") from error
    return _content(found.get(name), name, (*path, name))


def _content(value: Any, name: str, path: Path) -> bytes | None:
    match value:
        case None | bytes():
            return value
        case str():
            return _encode(value, name, path)
        case Written():
            return _encode(value.text, name, path)
    try:
        return _encode(json.dumps(meaning(value), ensure_ascii=False), name, path)
    except TypeError as error:
        raise Misfit(path, f"{name} is {shape(value)}, which JSON does not have; write a string") from error


def _required(found: dict[str, Any], otherwise: str, path: Path) -> bytes | None:
    """Return the value of a required field, which may be null. Raises Misfit."""
    if "value" not in found and "value_base64" not in found:
        raise Misfit(path, otherwise)
    return _bytes(found, "value", path)


def _headers(found: Any, path: Path) -> list[Header]:
    if found is None:
        return []
    if isinstance(found, dict):
        return [
            (_header_name(name, (*path, name)), _content(value, "a header's value", (*path, name)))
            for name, value in found.items()
        ]
    if not isinstance(found, list):
        raise Misfit(path, f"headers is {shape(found)}, not a list of {_HEADER_EXAMPLE}")
    return [_header(item, (*path, position)) for position, item in enumerate(found)]


def _header(found: Any, path: Path) -> Header:
    if not isinstance(found, dict):
        raise Misfit(path, f"a header is {shape(found)}, not {_HEADER_EXAMPLE}")
    check_fields(found, _HEADER_FIELDS, " in a header", path)
    if "key" not in found:
        raise Misfit(path, "a header has no key")
    name = _header_name(found["key"], (*path, "key"))
    return name, _required(found, "a header has no value; null is a value too", path)


def _header_name(found: Any, path: Path) -> str:
    name = _string(found, "a header's key", path)
    _encode(name, "a header's key", path, "surrogateescape")  # as for keys that are not UTF-8
    return name


def _encode(text: str, name: str, path: Path, errors: str = "strict") -> bytes:
    try:
        return text.encode("utf-8", errors)
    except UnicodeEncodeError as error:
        raise Misfit(path, f"{name} has half of a surrogate pair") from error


def _string(value: object, name: str, path: Path) -> str:
    if isinstance(value, Written):
        return value.text
    if not isinstance(value, str):
        raise Misfit(path, f"{name} is {shape(value)}, not a string")
    return value


def _number(found: dict[str, Any], name: str, largest: int, wanted: str, path: Path) -> int:
    value = found.get(name)
    return NONE if value is None else whole_number(value, name, largest, wanted, (*path, name))


def _timestamp(found: dict[str, Any], path: Path) -> int:
    """Parse milliseconds since 1970, or ISO 8601 with a time zone. Raises Misfit."""
    value = found.get("timestamp")
    text = value.text if isinstance(value, Written) and not isinstance(value.meaning, int | float) else value
    if not isinstance(text, str):
        return _number(found, "timestamp", _LARGEST_TIMESTAMP, "milliseconds since 1970", path)
    here = (*path, "timestamp")
    wanted = f"not milliseconds since 1970, nor a time such as {_TIME_EXAMPLE}"
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise Misfit(here, f"timestamp is {json.dumps(text)}, {wanted}") from error
    if time.tzinfo is None:
        raise Misfit(here, f"timestamp {json.dumps(text)} has no zone; write it as in {_TIME_EXAMPLE}")
    since = round(time.timestamp() * 1000)
    if since < 0:
        raise Misfit(here, f"timestamp is {json.dumps(text)}, {wanted}")
    return since
