"""JSON: parses a value, and infers the types of its fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from pykbroker.lake.values.conversion_error import ConversionError, excerpt
from pykbroker.lake.values.types import JSON, Columns, Type, array, merged, merged_fields, struct

_FRAME = 5
_SMALLEST, _END = -(1 << 63), 1 << 63


def decode_json(value: bytes) -> Any:
    """Parse a value, without the frame of a schema registry if it has one. Raises ConversionError if it is not a JSON object."""
    if value[:1] == b"\0":
        value = value[_FRAME:]
    try:
        found = json.loads(value.decode(), parse_constant=_refuse, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise ConversionError(f"the value is no UTF-8: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise ConversionError("the value is no JSON that can be read: it is nested too deeply") from None
    except ValueError as error:
        raise ConversionError(f"the value is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise ConversionError(f"the value is JSON and no object: {excerpt(found)}")
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    found = float(text)
    if found - found != 0:
        raise ValueError(f"{text} is larger than a double")
    return found


def widen(columns: dict[str, Any], fields: Mapping[str, Any]) -> None:
    """Merge the types of one object's fields into ``columns``."""
    for name, value in fields.items():
        known = columns.get(name)
        found = _SCALARS.get(type(value)) if type(value) is not int else _whole(value)
        if found is None or found is not known:
            columns[name] = merged(known, found or _type_of(value))


def found_columns(columns: Mapping[str, Any]) -> Columns:
    """The columns without those that had only null or empty values."""
    return {name: each for name, each in columns.items() if each is not None}


def merged_columns(one: Mapping[str, Any], other: Mapping[str, Any]) -> Columns:
    return found_columns(merged_fields(one, other))


def _type_of(value: Any) -> Type | None:
    """The type of an array or an object; None if it is null or empty and has no type."""
    if isinstance(value, dict):
        fields: dict[str, Any] = {}
        widen(fields, value)
        found = found_columns(fields)
        return struct(found) if found else None
    element: Type | None = None
    for each in value or ():
        element = merged(element, _scalar(each) or _type_of(each))
    return None if element is None else array(element)


def _scalar(value: Any) -> Type | None:
    return _whole(value) if type(value) is int else _SCALARS.get(type(value))


def _whole(value: int) -> Type:
    return "BIGINT" if _SMALLEST <= value < _END else JSON


def is_empty(value: Any) -> bool:
    """Whether a value has no type, such as ``{}`` and ``[null]``, and so needs no column."""
    return value is None or (isinstance(value, (dict, list)) and _type_of(value) is None)


_SCALARS: dict[type, Type] = {bool: "BOOLEAN", float: "DOUBLE", str: "STRING"}
