"""The text of an Avro schema as the registry stores it: as Java's library writes one, so that equal schemas are equal. Pure.

What is by default is left out, attributes are in a fixed order, and namespaces are named where they change. Unknown attributes stay; with
``normalize`` these are in alphabetical order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pykbroker.registry.schema import compact

_PRIMITIVES: Final = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
_OF_FIELDS: Final = ("name", "type", "doc", "default", "order", "aliases")
_OF_TYPES: Final = ("type", "name", "namespace", "doc", "fields", "items", "values", "symbols", "size", "aliases")


def canonical(node: Any, *, normalize: bool = False) -> str:
    """The stored text of a valid schema."""
    return compact(_Writer(normalize=normalize).schema(node, None))


class _Writer:
    def __init__(self, *, normalize: bool) -> None:
        self._normalize = normalize

    def schema(self, node: Any, space: str | None) -> Any:
        """A schema, within a namespace."""
        if isinstance(node, list):
            return [self.schema(each, space) for each in node]
        if isinstance(node, str):
            return _named(node, space)
        kind = node["type"]
        match kind:
            case "record" | "error":
                return self._record(node, space)
            case "enum":
                return self._enum(node, space)
            case "fixed":
                return self._named_type(node, space, {"size": node["size"]})
            case "array":
                return {"type": kind, "items": self.schema(node["items"], space), **self._others(node, _OF_TYPES)}
            case "map":
                return {"type": kind, "values": self.schema(node["values"], space), **self._others(node, _OF_TYPES)}
        others = self._others(node, ("type",))
        if not isinstance(kind, str):
            return self.schema(kind, space)
        return {"type": kind, **others} if others else _named(kind, space)

    def _record(self, node: dict[str, Any], space: str | None) -> dict[str, Any]:
        own = _full(node, space)[1]
        return self._named_type(node, space, {"fields": [self._field(each, own) for each in node["fields"]]})

    def _enum(self, node: dict[str, Any], space: str | None) -> dict[str, Any]:
        default = {"default": node["default"]} if "default" in node else {}
        return self._named_type(node, space, {"symbols": node["symbols"], **default}, more=("default",))

    def _named_type(
        self, node: dict[str, Any], space: str | None, content: dict[str, Any], more: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        name, own = _full(node, space)
        found: dict[str, Any] = {"type": node["type"], "name": name}
        if own != space:
            found["namespace"] = own or ""
        if node.get("doc") is not None:
            found["doc"] = node["doc"]
        aliases = {"aliases": node["aliases"]} if node.get("aliases") else {}
        return {**found, **content, **self._others(node, (*_OF_TYPES, *more)), **aliases}

    def _field(self, node: dict[str, Any], space: str | None) -> dict[str, Any]:
        found: dict[str, Any] = {"name": node["name"], "type": self.schema(node["type"], space)}
        if node.get("doc") is not None:
            found["doc"] = node["doc"]
        if "default" in node:
            found["default"] = node["default"]
        if node.get("order", "ascending") != "ascending":
            found["order"] = node["order"]
        if node.get("aliases"):
            found["aliases"] = node["aliases"]
        return {**found, **self._others(node, _OF_FIELDS)}

    def _others(self, node: dict[str, Any], known: Iterable[str]) -> dict[str, Any]:
        names = [each for each in node if each not in known]
        return {name: node[name] for name in (sorted(names) if self._normalize else names)}


def _full(node: dict[str, Any], space: str | None) -> tuple[str, str | None]:
    """The name of a type without its namespace, and its namespace."""
    before, dot, name = node["name"].rpartition(".")
    if dot:
        return name, before or None
    return name, (node["namespace"] or None) if "namespace" in node else space


def _named(name: str, space: str | None) -> str:
    """A reference to a type, without its namespace where that is the present one."""
    before, _, short = name.rpartition(".")
    return short if name not in _PRIMITIVES and before and before == space else name
