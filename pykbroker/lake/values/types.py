"""The types of columns, with Spark's names, and the evolution of schemas. Pure; a type is plain JSON, as in the ledger.

A scalar is its name (``"BIGINT"``); other types are ``{"array": type}``, ``{"map": type}`` with text as keys, and
``{"struct": {name: type}}``. ``JSON`` is text with JSON, for a field that had values of several types when it was fixed.
All integers are BIGINT and all fractions DOUBLE, so a producer that changes from int to long changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from pykbroker.lake.errors import LakeError

Type = str | Mapping[str, Any]
Columns = dict[str, Type]
Taken = Callable[[str, Mapping[str, Any]], bool]
"""Whether a new field with this name may be added to those."""

JSON = "JSON"
SCALARS = frozenset(
    [
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "DOUBLE",
        "STRING",
        "BINARY",
        "DATE",
        "TIMESTAMP",
        "TIMESTAMP_NTZ",
        "JSON",
    ]
)
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def array(of: Type) -> Type:
    return {"array": of}


def mapping(to: Type) -> Type:
    return {"map": to}


def struct(fields: Mapping[str, Type]) -> Type:
    return {"struct": dict(fields)}


def part(each: Type, name: str) -> Any:
    """The content of an array, map or struct (``name``); None for other types."""
    return None if isinstance(each, str) else each.get(name)


def decimal_of(each: Type) -> tuple[int, int] | None:
    """Precision and scale of a decimal; None for other types."""
    found = _DECIMAL.fullmatch(each) if isinstance(each, str) else None
    return (int(found[1]), int(found[2])) if found else None


def ddl(each: Type) -> str:
    """The type in Spark's SQL."""
    if isinstance(each, str):
        return "STRING" if each == JSON else each
    if "array" in each:
        return f"ARRAY<{ddl(each['array'])}>"
    if "map" in each:
        return f"MAP<STRING, {ddl(each['map'])}>"
    return f"STRUCT<{ddl_of(each['struct'], ': ')}>"


def ddl_of(columns: Mapping[str, Type], between: str = " ") -> str:
    return ", ".join(f"`{name.replace('`', '``')}`{between}{ddl(each)}" for name, each in columns.items())


def merged(one: Type | None, other: Type | None) -> Type | None:
    """The narrowest type for values of both, while no type is fixed. None means that the type is unknown."""
    if one is None or one == other:
        return other
    if other is None:
        return one
    if {str(one), str(other)} == {"BIGINT", "DOUBLE"}:
        return "DOUBLE"
    for name in ("array", "map"):
        if (mine := part(one, name)) is not None and (theirs := part(other, name)) is not None:
            return {name: merged(mine, theirs)}
    mine, theirs = part(one, "struct"), part(other, "struct")
    return JSON if mine is None or theirs is None else struct(merged_fields(mine, theirs))


def merged_fields(one: Mapping[str, Type], other: Mapping[str, Type]) -> dict[str, Any]:
    """The fields of both, each with its merged type."""
    fields: dict[str, Any] = dict(one)
    for name, each in other.items():
        fields[name] = merged(fields.get(name), each)
    return fields


def grown(fixed: Mapping[str, Type], found: Mapping[str, Type], taken: Taken) -> Columns:
    """The fixed columns, followed by the found fields that are new and ``taken``."""
    fields = dict(fixed)
    for name, each in found.items():
        if name in fields:
            fields[name] = _grown_type(fields[name], each, taken)
        elif taken(name, fields) and (cleaned := _cleaned(each, taken)) is not None:
            fields[name] = cleaned
    return fields


def _grown_type(fixed: Type, found: Type, taken: Taken) -> Type:
    for name in ("array", "map"):
        if (mine := part(fixed, name)) is not None and (theirs := part(found, name)) is not None:
            return {name: _grown_type(mine, theirs, taken)}
    mine, theirs = part(fixed, "struct"), part(found, "struct")
    return fixed if mine is None or theirs is None else struct(grown(mine, theirs, taken))


def _cleaned(found: Type, taken: Taken) -> Type | None:
    """A new field's type without inner fields that cannot be columns; None if nothing is left."""
    for name in ("array", "map"):
        if (inner := part(found, name)) is not None:
            cleaned = _cleaned(inner, taken)
            return None if cleaned is None else {name: cleaned}
    fields = part(found, "struct")
    if fields is None:
        return found
    kept = grown({}, fields, taken)
    return struct(kept) if kept else None


def revised(fixed: Mapping[str, Type], given: Mapping[str, Type]) -> list[str]:
    """The fixed columns whose types are given otherwise: a table cannot change them, so it has to be made anew."""
    return [
        name
        for name, each in given.items()
        if name in fixed and _grown_type(each, fixed[name], lambda *_: True) != fixed[name]
    ]


def width(columns: Mapping[str, Type]) -> int:
    """The number of columns, including those in structs."""
    return sum(map(_width, columns.values()))


def without(columns: Mapping[str, Type], paths: Collection[tuple[str, ...]]) -> Columns:
    """The columns without these, each named by its path through structs; a struct without fields is left out, too."""
    found: dict[str, Any] = {}
    for name, each in columns.items():
        inner = {path[1:] for path in paths if path[0] == name}
        if () in inner:
            continue
        fields = part(each, "struct")
        if fields is None or not inner:
            found[name] = each
        elif left := without(fields, inner):
            found[name] = struct(left)
    return found


def paths_of(columns: Mapping[str, Type], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of each column through structs; not of structs themselves."""
    for name, each in columns.items():
        fields = part(each, "struct")
        if fields is None:
            yield (*above, name)
        else:
            yield from paths_of(fields, (*above, name))


def _width(each: Type) -> int:
    if (fields := part(each, "struct")) is not None:
        return width(fields)
    inner = part(each, "array") or part(each, "map")
    return 1 if inner is None else _width(inner)


def of_spark(given: Any, where: str) -> Type:
    """A type from Spark's JSON. Raises LakeError for one into which values cannot be decoded."""
    kind = given["type"] if isinstance(given, dict) else given
    if kind == "struct":
        return struct({field["name"]: of_spark(field["type"], f"{where}.{field['name']}") for field in given["fields"]})
    if kind == "array":
        return array(of_spark(given["elementType"], f"{where}[]"))
    if kind == "map" and given["keyType"] == "string":
        return mapping(of_spark(given["valueType"], f"{where}{{}}"))
    names = {"long": "BIGINT", "integer": "INT", "short": "SMALLINT", "byte": "TINYINT", "float": "DOUBLE"}
    name = names.get(str(kind), str(kind).upper())
    if name not in SCALARS and decimal_of(name) is None:
        raise LakeError(f"{where.lstrip('.')} is of type {kind}, into which values are not decoded.")
    return name
