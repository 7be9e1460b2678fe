"""Objects of two JSON schemas. A content model is open if any further property is allowed, and partially open if some are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from pykbroker.coordination.groups.patterns import InvalidPattern, compile_pattern
from pykbroker.registry.formats.json_comparing import compare_further
from pykbroker.registry.formats.parsed import Malformed

if TYPE_CHECKING:
    from pykbroker.registry.formats.json_comparing import SchemaComparison
    from pykbroker.registry.formats.json_nodes import JsonNode

_LIMITS: Final = {"maxProperties": True, "minProperties": False}
_LONGEST_PATTERN: Final = 1000
#: A pattern is compiled and matched, which is as long as so many items are walked.
_ITEMS_OF_A_PATTERN: Final = 1000
#: Patterns of an object: as many stay compiled.
_MOST_PATTERNS: Final = 100


def compare(compared: SchemaComparison, one: JsonNode, other: JsonNode) -> None:
    """Compare two objects."""
    original, update = one.data, other.data
    compared.walk(sum(len(each.get(name, ())) for each in (original, update) for name in ("required", "properties")))
    _required(compared, original, update)
    _properties(compared, one, other)
    _dependencies(compared, one, other)
    before, after = (each.get("additionalProperties", True) for each in (original, update))
    compare_further(compared, "Properties", before, one.base, after, other.base)
    compared.bounds(original, update, _LIMITS)


def _required(compared: SchemaComparison, original: Any, update: Any) -> None:
    added = set(update.get("required", ())) - set(original.get("required", ()))
    for name in original.get("properties", {}):
        if name in update.get("properties", {}) and name in added and not _has_default(update, name):
            compared.differs("REQUIRED_ATTRIBUTE_ADDED", "required", name)


def _properties(compared: SchemaComparison, one: JsonNode, other: JsonNode) -> None:
    before, after = one.data.get("properties", {}), other.data.get("properties", {})
    required = set(other.data.get("required", ()))
    for name in dict.fromkeys((*before, *after)):
        with compared.at("properties", name):
            if name not in after:
                _removed(compared, one, other, name)
            elif name not in before:
                _added(compared, one, other, name, is_required=name in required)
            else:
                compared.schemas(before[name], one.base, after[name], other.base)


def _removed(compared: SchemaComparison, one: JsonNode, other: JsonNode, name: str) -> None:
    """The reader's content model decides."""
    if _is_open(other.data):
        return
    schema = one.data["properties"][name]
    if (partial := _covering(compared, other.data, name)) is not None:
        if not compared.covered(schema, one.base, partial, other.base):
            compared.differs("PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")
    elif schema is not False:
        compared.differs("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL")


def _added(compared: SchemaComparison, one: JsonNode, other: JsonNode, name: str, *, is_required: bool) -> None:
    """The writer's content model decides."""
    schema = other.data["properties"][name]
    if _is_open(one.data):
        if schema not in ({}, True):
            compared.differs("PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL")
        return
    partial = _covering(compared, one.data, name)
    if partial is not None and not compared.covered(partial, one.base, schema, other.base):
        compared.differs("PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")
    if is_required and not _has_default(other.data, name):
        compared.differs("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL")


def _dependencies(compared: SchemaComparison, one: JsonNode, other: JsonNode) -> None:
    before, after = one.data.get("dependencies", {}), other.data.get("dependencies", {})
    compared.walk(sum(len(each) for found in (before, after) for each in found.values() if isinstance(each, list)))
    for name, dependency in after.items():
        earlier = before.get(name)
        with compared.at("dependencies", name):
            if isinstance(dependency, list):
                if not isinstance(earlier, list):
                    compared.differs("DEPENDENCY_ARRAY_ADDED")
                elif not set(dependency) <= set(earlier):
                    extended = set(dependency) > set(earlier)
                    compared.differs("DEPENDENCY_ARRAY_EXTENDED" if extended else "DEPENDENCY_ARRAY_CHANGED")
            elif earlier is None or isinstance(earlier, list):
                compared.differs("DEPENDENCY_SCHEMA_ADDED")
            else:
                compared.schemas(earlier, one.base, dependency, other.base)


def _has_default(data: Any, name: str) -> bool:
    schema = data["properties"].get(name)
    return isinstance(schema, dict) and "default" in schema


def _is_open(data: Any) -> bool:
    return not data.get("patternProperties") and data.get("additionalProperties", True) is True


def _covering(compared: SchemaComparison, data: Any, name: str) -> Any | None:
    """The schema of further properties of this name; None if there is none. Raises Malformed."""
    count = len(data.get("patternProperties", ()))
    if count > _MOST_PATTERNS:
        raise Malformed(f"an object has more than {_MOST_PATTERNS} patterns")
    compared.walk((_ITEMS_OF_A_PATTERN + len(name)) * count)
    for schema in _of_patterns(data, name):
        return schema
    found = data.get("additionalProperties")
    return found if isinstance(found, dict) else None


def _of_patterns(data: Any, name: str) -> Iterator[Any]:
    """RE2 matches in linear time; a pattern that it does not understand, or would compile for long, matches nothing."""
    for pattern, schema in data.get("patternProperties", {}).items():
        try:
            if len(pattern) <= _LONGEST_PATTERN and compile_pattern(pattern).is_in(name):
                yield schema
        except (InvalidPattern, UnicodeEncodeError):
            continue
