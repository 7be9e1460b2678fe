"""Avro: the columns of a schema, and values decoded by fastavro with the writer's schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

from fastavro import parse_schema, schemaless_reader
from fastavro.schema import SchemaParseException, UnknownType

from pykbroker.lake.errors import LakeError
from pykbroker.lake.values.conversion_error import ConversionError
from pykbroker.lake.values.types import JSON, Columns, Type, array, mapping, struct

_PLAIN: dict[str, Type] = {
    "boolean": "BOOLEAN", "int": "BIGINT", "long": "BIGINT", "float": "DOUBLE", "double": "DOUBLE",
    "string": "STRING", "bytes": "BINARY", "fixed": "BINARY", "enum": "STRING", "null": "STRING",
}  # fmt: skip
_LOGICAL: dict[str, Type] = {
    "int date": "DATE", "int time-millis": "STRING", "long time-micros": "STRING", "string uuid": "STRING",
    "long timestamp-millis": "TIMESTAMP", "long timestamp-micros": "TIMESTAMP",
    "long local-timestamp-millis": "TIMESTAMP_NTZ", "long local-timestamp-micros": "TIMESTAMP_NTZ",
}  # fmt: skip


class AvroSchema:
    """A schema, from its text and the texts of its references, each after those that it needs. Raises LakeError if one is invalid."""

    def __init__(self, text: str, references: Sequence[str] = ()) -> None:
        self._named: dict[str, Any] = {}
        try:
            for each in references:
                parse_schema(_loaded(each), named_schemas=self._named)
            self._schema = parse_schema(_loaded(text), named_schemas=self._named)
        except (SchemaParseException, UnknownType, ValueError, KeyError, TypeError) as error:
            raise LakeError(f"This is no Avro schema: {str(error) or type(error).__name__}: {text[:200]}") from None

    def columns(self) -> Columns:
        """The fields of a record; for other types, one column ``value``. Raises LakeError if a record contains itself."""
        found = self._type(self._schema, ())
        return found["struct"] if not isinstance(found, str) and "struct" in found else {"value": found}

    def decoder(self) -> Callable[[bytes], dict[str, Any]]:
        """The function that decodes a value; it raises ConversionError if the value does not fit the schema."""
        is_record = isinstance(self._schema, dict) and self._schema["type"] == "record"

        def decode(value: bytes) -> dict[str, Any]:
            data = BytesIO(value)
            try:
                found = schemaless_reader(data, self._schema)
            except EOFError:
                raise ConversionError("the value ends before its Avro schema does") from None
            except Exception as error:  # noqa: BLE001 - fastavro raises many kinds for bytes that are no Avro
                raise ConversionError(
                    f"the value is not of its Avro schema: {str(error) or type(error).__name__}"
                ) from None
            if left := len(value) - data.tell():
                raise ConversionError(f"the value is not of its Avro schema: {left} bytes are left over")
            return found if is_record else {"value": found}

        return decode

    def _type(self, schema: Any, above: tuple[str, ...]) -> Type:
        if isinstance(schema, list):
            return self._union(schema, above)
        if isinstance(schema, str):
            if schema in _PLAIN:
                return _PLAIN[schema]
            return self._type(self._named[schema], above)
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._record(schema, above)
        if kind == "array":
            if self._is_empty(schema["items"]):
                raise LakeError(
                    "The Avro schema has an array whose items take no bytes: a value may claim any number of them."
                )
            return array(self._type(schema["items"], above))
        if kind == "map":
            return mapping(self._type(schema["values"], above))
        if not isinstance(kind, str) or kind not in _PLAIN:
            return self._type(kind, above)
        return _logical(schema, kind)

    def _record(self, schema: Any, above: tuple[str, ...]) -> Type:
        if schema["name"] in above:
            raise LakeError(f"The Avro record {schema['name']} has itself in it, so there are no columns for it.")
        if not schema["fields"]:
            raise LakeError(f"The Avro record {schema['name']} has no fields, so there are no columns for it.")
        inner = (*above, schema["name"])
        return struct({field["name"]: self._type(field["type"], inner) for field in schema["fields"]})

    def _is_empty(self, schema: Any, above: tuple[str, ...] = ()) -> bool:
        """Whether a value takes no bytes: null, and records of nothing else."""
        if isinstance(schema, str) and schema not in _PLAIN:
            schema = self._named[schema]
        if isinstance(schema, str | list):
            return schema == "null"
        kind = schema["type"]
        if kind in ("record", "error"):  # one within itself has an end, which takes bytes
            inner = (*above, schema["name"])
            return schema["name"] not in above and all(self._is_empty(each["type"], inner) for each in schema["fields"])
        return kind == "null" or (kind == "fixed" and schema["size"] == 0)

    def _union(self, members: list[Any], above: tuple[str, ...]) -> Type:
        """A union of null and one type is that type; a union of several is JSON."""
        others = [each for each in members if each != "null"]
        return self._type(others[0], above) if len(others) == 1 else JSON


def _logical(schema: Any, kind: str) -> Type:
    if schema.get("logicalType") == "decimal" and schema["precision"] <= 38:
        return f"DECIMAL({schema['precision']},{schema.get('scale', 0)})"
    return _LOGICAL.get(f"{kind} {schema.get('logicalType')}", _PLAIN[kind])


def _loaded(text: str) -> Any:
    """The parsed text; a schema from a registry may be the bare name of a type."""
    stripped = text.strip()
    return stripped if stripped in _PLAIN else json.loads(stripped)
