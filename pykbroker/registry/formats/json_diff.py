"""Whether values of one JSON schema are values of another. Source: "JSON Schema compatibility rules" in the documentation of Confluent's registry,
whose names of rules these are.

``original`` is the writer's schema, ``update`` the reader's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pykbroker.registry.formats import json_array_diff, json_object_diff
from pykbroker.registry.formats.json_nodes import ARRAY, COMBINED, EMPTY, FALSE, OBJECT, Document, JsonNode
from pykbroker.registry.formats.matching import largest_matching
from pykbroker.registry.formats.parsed import Budget, Incompatibility

#: A difference takes as long, and as much memory, as so many items that are walked.
_WALKS_OF_A_DIFFERENCE: Final = 100
#: Keywords that bound values: whether more is wider.
_OF_STRINGS: Final = {"maxLength": True, "minLength": False}
_OF_NUMBERS: Final = {"maximum": True, "minimum": False, "exclusiveMaximum": True, "exclusiveMinimum": False}


def compare(original: Document, update: Document, budget: Budget) -> list[Incompatibility]:
    """The incompatible differences. Raises Malformed beyond the budget."""
    compared = Comparison(budget)
    compared.schemas(original.root, original, update.root, update)
    return compared.found


class Comparison:
    """One comparison; ``found`` are the differences."""

    def __init__(self, budget: Budget) -> None:
        self.found: list[Incompatibility] = []
        self._budget = budget
        self._path: list[str] = ["#"]
        self._within: list[tuple[int, int]] = []

    @contextmanager
    def at(self, *steps: str) -> Iterator[None]:
        """Within a part of the schema."""
        self._path += steps
        try:
            yield
        finally:
            del self._path[-len(steps) :]

    def differs(self, rule: str, *steps: str) -> None:
        """Note an incompatible difference."""
        path = [*self._path, *steps]
        self._budget.walk(_WALKS_OF_A_DIFFERENCE + sum(map(len, path)))
        self.found.append(Incompatibility(rule, "/".join(path)))

    def walk(self, items: int) -> None:
        """Spend the steps of walking so many items. Raises Malformed if none are left."""
        self._budget.walk(items)

    def fits(self, original: Any, of: Document, update: Any, to: Document) -> list[Incompatibility]:
        """The differences of two schemas, apart from the others."""
        found, self.found = self.found, []
        try:
            self.schemas(original, of, update, to)
            return self.found
        finally:
            self.found = found

    def covered(self, original: Any, of: Document, update: Any, to: Document) -> bool:
        """Whether the first fits the second; note what does not."""
        found = self.fits(original, of, update, to)
        self.found += found
        return not found

    def schemas(self, original: Any, of: Document, update: Any, to: Document) -> None:
        """Compare two schemas, raw or as nodes, of the documents ``of`` and ``to``."""
        self._budget.spend()
        one = original if isinstance(original, JsonNode) else of.node(original)
        other = update if isinstance(update, JsonNode) else to.node(update)
        pair = (id(one.data), id(other.data))
        if (
            one.kind == COMBINED != other.kind
            and len(one.parts) == 1
            and not self.fits(one.parts[0], one.base, other, to)
        ):
            return
        if one.kind != COMBINED and other.kind == COMBINED:
            many = other.parts if len(other.parts) == 1 or other.criterion in ("anyOf", "oneOf") else ()
            if any(not self.fits(one, of, each, other.base) for each in many):
                return
        if one.kind != other.kind:
            if one.kind != FALSE and other.kind != EMPTY:
                self.differs("TYPE_CHANGED")
            return
        if pair in self._within and one.kind in (OBJECT, ARRAY):
            return  # a schema that contains itself
        self._within.append(pair)
        try:
            self._same_kind(one, other)
        finally:
            self._within.pop()

    def _same_kind(self, one: JsonNode, other: JsonNode) -> None:
        match one.kind:
            case "string":
                self._strings(one.data, other.data)
            case "number":
                self._numbers(one.data, other.data)
            case "enum":
                self._enums(one.data, other.data)
            case "combined":
                self._combined(one, other)
            case "not":
                if self.fits(other.data["not"], other.base, one.data["not"], one.base):
                    self.differs("NOT_TYPE_EXTENDED", "not")
            case "object":
                json_object_diff.compare(self, one, other)
            case "array":
                json_array_diff.compare(self, one, other)

    def bounds(self, original: Any, update: Any, keywords: dict[str, bool]) -> None:
        """Compare limits, of which a missing one is the widest."""
        for name, more_is_wider in keywords.items():
            before, after = _limit(original, name), _limit(update, name)
            if after is None or before == after:
                continue
            word = _words(name)
            if before is None:
                self.differs(f"{word}_ADDED", name)
            elif (after > before) != more_is_wider:
                self.differs(f"{word}_{'DECREASED' if more_is_wider else 'INCREASED'}", name)

    def _strings(self, original: Any, update: Any) -> None:
        self.bounds(original, update, _OF_STRINGS)
        before, after = original.get("pattern"), update.get("pattern")
        if after is not None and before != after:
            self.differs("PATTERN_ADDED" if before is None else "PATTERN_CHANGED", "pattern")

    def _numbers(self, original: Any, update: Any) -> None:
        self.bounds(original, update, _OF_NUMBERS)
        before, after = _limit(original, "multipleOf"), _limit(update, "multipleOf")
        if after is not None and before != after:
            if before is None:
                self.differs("MULTIPLE_OF_ADDED", "multipleOf")
            elif not after or before % after:
                expanded = bool(before) and not after % before
                self.differs("MULTIPLE_OF_EXPANDED" if expanded else "MULTIPLE_OF_CHANGED", "multipleOf")
        if update.get("type") == "integer" and original.get("type") != "integer":
            self.differs("TYPE_NARROWED")

    def _enums(self, original: Any, update: Any) -> None:
        before, after = _values(original), _values(update)
        self._budget.spend(len(before) * len(after) // 100)
        self._budget.walk(len(before) + len(after))
        missing = [each for each in before if not any(_same(each, other) for other in after)]
        if missing:
            more = any(not any(_same(each, other) for other in before) for each in after)
            self.differs("ENUM_ARRAY_CHANGED" if more else "ENUM_ARRAY_NARROWED", "enum")

    def _combined(self, one: JsonNode, other: JsonNode) -> None:
        if not _criterion_fits(one, other):
            self.differs("COMBINED_TYPE_CHANGED")
            return
        self._budget.spend((len(one.parts) ** 2 + len(other.parts) ** 2) // 100)
        before, after = _distinct(one.parts), _distinct(other.parts)
        if len(before) < len(after) and other.criterion == "allOf":
            self.differs("PRODUCT_TYPE_EXTENDED")
        elif len(before) > len(after) and other.criterion != "allOf":
            self.differs("SUM_TYPE_NARROWED")
        edges: dict[int, list[int]] = {}
        for index, part in enumerate(before):
            with self.at(one.criterion, str(index)):
                edges[index] = [
                    number for number, each in enumerate(after) if not self.fits(part, one.base, each, other.base)
                ]
        if largest_matching(edges) < min(len(before), len(after)):
            self.differs("COMBINED_TYPE_SUBSCHEMAS_CHANGED")


def _criterion_fits(one: JsonNode, other: JsonNode) -> bool:
    if other.criterion in (one.criterion, "anyOf"):
        return True
    return len(one.parts) == 1 and (other.criterion == "oneOf" or len(other.parts) == 1)


def _distinct(parts: tuple[Any, ...]) -> list[Any]:
    found: list[Any] = []
    for each in parts:
        if not any(each == other for other in found):
            found.append(each)
    return found


def _values(data: Any) -> list[Any]:
    return list(data["enum"]) if "enum" in data else [data["const"]]


def _same(one: Any, other: Any) -> bool:
    """Of JSON: true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _limit(data: Any, name: str) -> float | None:
    """A limit; with draft 4, exclusiveMaximum is a flag of maximum."""
    found = data.get(name)
    if isinstance(found, bool):
        found = data.get(name.replace("exclusive", "").lower()) if found else None
    return found if isinstance(found, int | float) else None


def _words(name: str) -> str:
    return "".join(f"_{each}" if each.isupper() else each.upper() for each in name)
