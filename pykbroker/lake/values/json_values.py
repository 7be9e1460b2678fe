"""JSON: a value's object, and the types that are found in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from pykbroker.lake.values.types import JSON, Columns, Type, array, merged, merged_fields, struct
from pykbroker.lake.values.unfit import Unfit, shown

_FRAME = 5
_SMALLEST, _END = -(1 << 63), 1 << 63


def decode_json(value: bytes) -> Any:
    """The object of a value; the frame of a schema registry, if there is one, is left out. Raises Unfit."""
    if value[:1] == b"\0":
        value = value[_FRAME:]
    try:
        found = json.loads(value.decode(), parse_constant=_refuse, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise Unfit(f"the value is no UTF-8: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise Unfit("the value is no JSON that can be read: it is nested too deeply") from None
    except ValueError as error:
        raise Unfit(f"the value is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise Unfit(f"the value is JSON and no object: {shown(found)}")
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    found = float(text)
    if found - found != 0:
        raise ValueError(f"{text} is larger than a double")
    return found


def widen(columns: dict[str, Any], fields: Mapping[str, Any]) -> None:
    """Adds to ``columns`` what the fields of one object say."""
    for name, value in fields.items():
        known = columns.get(name)
        found = _SCALARS.get(type(value)) if type(value) is not int else _whole(value)
        if found is None or found is not known:
            columns[name] = merged(known, found or _type_of(value))


def found_columns(columns: Mapping[str, Any]) -> Columns:
    """Without fields of which nothing is known but nulls and what is empty."""
    return {name: each for name, each in columns.items() if each is not None}


def merged_columns(one: Mapping[str, Any], other: Mapping[str, Any]) -> Columns:
    return found_columns(merged_fields(one, other))


def _type_of(value: Any) -> Type | None:
    """The type of an array or an object; None where it says nothing, being null or empty."""
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
    """Whether a value says nothing of its type, as ``{}`` and ``[null]``: no column is missed for it."""
    return value is None or (isinstance(value, (dict, list)) and _type_of(value) is None)


_SCALARS: dict[type, Type] = {bool: "BOOLEAN", float: "DOUBLE", str: "STRING"}
