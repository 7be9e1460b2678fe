"""Converts Python values into those that Arrow accepts for a column: exactly, or not at all.

A fit is a function of one value, created once for a type. It never rounds, truncates or reinterprets a value. It raises ConversionError for a value
that does not fit, and no other exception: one value must not end a task.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation
from typing import Any
from uuid import UUID

from pykbroker.lake.values.conversion_error import ConversionError, excerpt
from pykbroker.lake.values.types import Type, decimal_of, part

Fit = Callable[[Any], Any]
Unknown = Callable[[str, Any, Mapping[str, Type]], None]
"""Called for a field without a column: returns, or raises ConversionError."""
_EXACT = Context(prec=100, traps=[Inexact, InvalidOperation])
_LARGEST_IN_DOUBLE = 1 << 53
"""Up to here, a double represents every integer exactly."""
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def fit_of(each: Type, unknown: Unknown) -> Fit:
    """The fit for a type. It is not called for None, which is null in every type."""
    if isinstance(each, str):
        if each in _BITS:
            return _whole(each, 1 << (_BITS[each] - 1))
        digits = decimal_of(each)
        return _SCALARS[each] if digits is None else _decimal(each, *digits)
    if (fields := part(each, "struct")) is not None:
        return fields_fit(fields, unknown)
    if (element := part(each, "array")) is not None:
        return _array(fit_of(element, unknown))
    return _map(fit_of(part(each, "map"), unknown))


def fields_fit(fields: Mapping[str, Type], unknown: Unknown) -> Callable[[Any], dict[str, Any]]:
    """The fit for an object, without fields that are null."""
    fits = {name: fit_of(each, unknown) for name, each in fields.items()}

    def fit(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ConversionError(f"{excerpt(value)} is no object")
        found = {}
        for name, each in value.items():
            if each is not None:
                known = fits.get(name)
                if known is None:
                    unknown(name, each, fields)
                    continue
                try:
                    found[name] = known(each)
                except ConversionError as error:
                    raise error.inside(f".{name}") from None
        return found

    return fit


def _array(element: Fit) -> Fit:
    def fit(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ConversionError(f"{excerpt(value)} is no array")
        found: list[Any] = []
        try:
            for each in value:
                found.append(None if each is None else element(each))  # noqa: PERF401 - its length is where it failed
        except ConversionError as error:
            raise error.inside(f"[{len(found)}]") from None
        return found

    return fit


def _map(to: Fit) -> Fit:
    def fit(value: Any) -> list[tuple[str, Any]]:
        if not isinstance(value, dict):
            raise ConversionError(f"{excerpt(value)} is no map")
        found = []
        for name, each in value.items():
            try:
                found.append((_text(name), None if each is None else to(each)))
            except ConversionError as error:
                raise error.inside(f"[{excerpt(name)}]") from None
        return found

    return fit


def _whole(name: str, limit: int) -> Fit:
    def fit(value: Any) -> int:
        if type(value) is int and -limit <= value < limit:
            return value
        raise ConversionError(f"{excerpt(value)} is no {name}")

    return fit


def _decimal(name: str, precision: int, scale: int) -> Fit:
    def fit(value: Any) -> Decimal:
        if type(value) not in (int, float, str, Decimal):
            raise ConversionError(f"{excerpt(value)} is no {name}")
        try:
            found = _EXACT.normalize(Decimal(repr(value) if type(value) is float else value))
        except DecimalException:
            raise ConversionError(f"{excerpt(value)} is no {name}") from None
        exponent = found.as_tuple().exponent
        if not isinstance(exponent, int) or -exponent > scale or (found and found.adjusted() >= precision - scale):
            raise ConversionError(f"{excerpt(value)} is no {name}")
        return found

    return fit


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise ConversionError(f"{excerpt(value)} is no BOOLEAN")


def _double(value: Any) -> float:
    if type(value) is float or (type(value) is int and abs(value) <= _LARGEST_IN_DOUBLE):
        return float(value)
    raise ConversionError(f"{excerpt(value)} is no DOUBLE")


def _text(value: Any) -> str:
    if isinstance(value, (UUID, time)):
        return value.isoformat() if isinstance(value, time) else str(value)
    if not isinstance(value, str):
        raise ConversionError(f"{excerpt(value)} is no STRING")
    if not value.isascii():
        _check_unicode(value)
    return value


def _check_unicode(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ConversionError(f"{excerpt(value)} has half of a surrogate pair") from None


def _binary(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise ConversionError(f"{excerpt(value)} is no BINARY in base64") from None


def _date(value: Any) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise ConversionError(f"{excerpt(value)} is no DATE") from None


def _timestamp(value: Any) -> datetime:
    """A time without a zone is in UTC."""
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise ConversionError(f"{excerpt(value)} is no TIMESTAMP") from None


def _timestamp_ntz(value: Any) -> datetime:
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        found = None
    if found is None or found.tzinfo is not None:
        raise ConversionError(f"{excerpt(value)} is no TIMESTAMP_NTZ")
    return found


def _json(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, default=_in_json, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise ConversionError(f"{excerpt(value)} cannot be written as JSON") from None
    if not text.isascii():
        _check_unicode(text)
    return text


def _in_json(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


_SCALARS: dict[str, Fit] = {
    "BOOLEAN": _boolean,
    "DOUBLE": _double,
    "STRING": _text,
    "BINARY": _binary,
    "DATE": _date,
    "TIMESTAMP": _timestamp,
    "TIMESTAMP_NTZ": _timestamp_ntz,
    "JSON": _json,
}
