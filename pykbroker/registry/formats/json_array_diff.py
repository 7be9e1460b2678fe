"""Arrays of two JSON schemas. ``items`` is one schema for all, or a list of them for the first ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pykbroker.registry.formats.json_comparing import compare_further

if TYPE_CHECKING:
    from pykbroker.registry.formats.json_comparing import SchemaComparison
    from pykbroker.registry.formats.json_nodes import JsonNode

#: An item is compared in as long as so many are walked.
_WALKS_OF_AN_ITEM: Final = 10
_LIMITS: Final = {"maxItems": True, "minItems": False}


def compare(compared: SchemaComparison, one: JsonNode, other: JsonNode) -> None:
    """Compare two arrays."""
    _all_items(compared, one, other)
    _first_items(compared, one, other)
    compare_further(compared, "Items", _further(one.data), one.base, _further(other.data), other.base)
    compared.bounds(one.data, other.data, _LIMITS)
    if other.data.get("uniqueItems") and not one.data.get("uniqueItems"):
        compared.differs("UNIQUE_ITEMS_ADDED", "uniqueItems")


def _all_items(compared: SchemaComparison, one: JsonNode, other: JsonNode) -> None:
    before, after = _of_all(one.data), _of_all(other.data)
    with compared.at("items"):
        if before is None and after is not None:
            compared.differs("SCHEMA_ADDED")
        elif after is not None:
            compared.schemas(before, one.base, after, other.base)


def _first_items(compared: SchemaComparison, one: JsonNode, other: JsonNode) -> None:
    before, after = _first(one.data), _first(other.data)
    compared.walk(_WALKS_OF_AN_ITEM * (len(before) + len(after)))
    for index in range(max(len(before), len(after))):
        with compared.at("items", str(index)):
            if index >= len(after):
                _removed(compared, one, other, before[index])
            elif index >= len(before):
                _added(compared, one, other, after[index])
            else:
                compared.schemas(before[index], one.base, after[index], other.base)


def _removed(compared: SchemaComparison, one: JsonNode, other: JsonNode, schema: Any) -> None:
    further = _further(other.data)
    if isinstance(further, dict):
        if not compared.covered(schema, one.base, further, other.base):
            compared.differs("ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")
    elif further is False and schema is not False:
        compared.differs("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL")


def _added(compared: SchemaComparison, one: JsonNode, other: JsonNode, schema: Any) -> None:
    further = _further(one.data)
    if isinstance(further, dict):
        if not compared.covered(further, one.base, schema, other.base):
            compared.differs("ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")
    elif further is True and schema not in ({}, True):
        compared.differs("ITEM_ADDED_TO_OPEN_CONTENT_MODEL")


def _of_all(data: Any) -> Any | None:
    """The schema of all items; with draft 2020, those after ``prefixItems``."""
    found = data.get("items")
    return None if isinstance(found, list) or "prefixItems" in data else found


def _first(data: Any) -> list[Any]:
    items = data.get("prefixItems", data.get("items"))
    return items if isinstance(items, list) else []


def _further(data: Any) -> Any:
    """What is allowed after the first items."""
    if "prefixItems" in data:
        return data.get("items", True)
    return data.get("additionalItems", True) if isinstance(data.get("items"), list) else True
