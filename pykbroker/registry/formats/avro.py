"""Avro: parsed and compared by Apache's own library. Source of the rules: schema resolution in Avro's specification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from avro.compatibility import (
    ReaderWriterCompatibilityChecker,
    SchemaCompatibilityResult,
    SchemaCompatibilityType,
    check_fixed_size,
    check_reader_enum_contains_writer_enum,
    check_schema_names,
    lookup_writer_field,
)
from avro.errors import AvroException
from avro.name import Names
from avro.schema import Schema as AvroSchema
from avro.schema import make_avsc_object

from pykbroker.registry.formats.avro_text import canonical
from pykbroker.registry.formats.parsed import Budget, Incompatibility, Malformed, json_of

_MOST_FIELDS: Final = 10_000
_INCOMPATIBLE: Final = SchemaCompatibilityType.incompatible


class Avro:
    """A parsed schema."""

    def __init__(self, schema: AvroSchema, text: str) -> None:
        self._schema = schema
        self.text = text

    def cannot_read(self, writer: Avro) -> list[Incompatibility]:
        """See Parsed."""
        checker = _Checker()
        try:
            result = checker.get_compatibility(self._schema, writer._schema)
        except RecursionError as error:
            raise Malformed("the schemas are nested too deep to be compared") from error
        if result.compatibility is not _INCOMPATIBLE:
            return []
        return checker.found or _differences(result)


def parse(text: str, references: Mapping[str, str], *, normalize: bool = False) -> Avro:
    """Parse a schema; ``references`` are the texts of the schemas with the types that it names, in the order in which they build on each
    other. Raises Malformed.
    """
    names = Names()
    try:
        for each in references.values():
            names.default_namespace = None
            _made(_json_of(each), names)
        names.default_namespace = None
        node = _json_of(text)
        made = _made(node, names)
    except (AvroException, RecursionError, TypeError, ValueError, AttributeError, KeyError) as error:
        raise Malformed(str(error)[:1000]) from error
    return Avro(made, canonical(node, normalize=normalize))


def _json_of(text: str) -> Any:
    """The JSON of a schema. Raises Malformed, also for a record with too many fields: the library looks for the name of each among all before it."""
    node = json_of(text)
    todo = [node]
    while todo:
        found = todo.pop()
        if isinstance(found, dict):
            if isinstance(found.get("fields"), list) and len(found["fields"]) > _MOST_FIELDS:
                raise Malformed(f"a record has more than {_MOST_FIELDS} fields")
            todo += found.values()
        elif isinstance(found, list):
            todo += found
    return node


def _made(node: Any, names: Names) -> AvroSchema:
    if isinstance(node, str) and names.has_name(node):
        known = names.get_name(node)
        assert known is not None, "it has just been found"
        return known
    return make_avsc_object(_without_logical_types(node), names)


def _without_logical_types(node: Any) -> Any:
    """What is read of it does not depend on logical types: unknown and misplaced ones are ignored by all implementations."""
    if isinstance(node, list):
        return [_without_logical_types(each) for each in node]
    if not isinstance(node, dict):
        return node
    found = {name: value for name, value in node.items() if name != "logicalType"}
    for name in ("type", "items", "values"):
        if name in found:
            found[name] = _without_logical_types(found[name])
    if isinstance(found.get("fields"), list):
        found["fields"] = [_without_logical_types(each) for each in found["fields"]]
    return found


class _Checker(ReaderWriterCompatibilityChecker):  # type: ignore[misc] # the package has no types
    """Also keeps each difference with its own path, which the library's result does not."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Incompatibility] = []
        self._budget = Budget()

    def calculate_compatibility(self, reader: Any, writer: Any, location: list[str]) -> SchemaCompatibilityResult:
        self._budget.spend()
        if reader.type == "record" == writer.type:
            # The library makes a table of the writer's fields for each of the reader's.
            self._budget.walk(len(reader.fields) * len(writer.fields))
        before = len(self.found)
        result = super().calculate_compatibility(reader, writer, location)
        # A result has those of its parts, each as often as it occurs: types that are named twice would double them at each level.
        result.incompatibilities = list(dict.fromkeys(result.incompatibilities))
        self._budget.walk(sum(map(len, result.messages)) + sum(map(len, result.locations)))
        if reader.type == "record":  # whose fields' results it has merged one after the other
            self._budget.walk(len(reader.fields) * len(result.locations))
        if reader.type == "union" or writer.type == "union":
            if result.compatibility is not _INCOMPATIBLE:
                del self.found[before:]  # of branches that another one makes up for
            elif reader.type == "union":
                self.found[before:] = _differences(result)
        elif result.compatibility is _INCOMPATIBLE:
            self.found += _own(reader, writer, location, result)
        return result


def _own(reader: Any, writer: Any, location: list[str], result: SchemaCompatibilityResult) -> list[Incompatibility]:
    """The differences of two types, without those of the types in them."""
    if reader.type != writer.type:
        return _differences(result)
    if reader.type not in ("record", "enum", "fixed"):
        return []
    parts = [check_schema_names(reader, writer, location)]
    if reader.type == "enum":
        parts.append(check_reader_enum_contains_writer_enum(reader, writer, location))
    elif reader.type == "fixed":
        parts.append(check_fixed_size(reader, writer, location))
    found = [difference for part in parts if part.compatibility is _INCOMPATIBLE for difference in _differences(part)]
    if reader.type == "record":
        path = "/".join(location)[1:]
        for index, field in enumerate(reader.fields):
            if lookup_writer_field(writer_schema=writer, reader_field=field) is None and not field.has_default:
                found.append(
                    Incompatibility("READER_FIELD_MISSING_DEFAULT_VALUE", f"{path}/fields/{index}", field.name)
                )
    return found


def _differences(result: SchemaCompatibilityResult) -> list[Incompatibility]:
    """Those of a result; one that has several has their paths and facts together."""
    path, facts = ", ".join(sorted(result.locations)), ", ".join(sorted(result.messages))
    return [Incompatibility(each.name.upper(), path, facts) for each in dict.fromkeys(result.incompatibilities)]
