"""JSON schemas as nodes of one kind each, as everit's library, whose classes the rules of Confluent's documentation are about, reads them. Pure.

A schema with several keywords of different kinds is all of them at once (``allOf``); a list of types is any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from pykbroker.registry.formats.parsed import Malformed
from pykbroker.runtime.digits import number

#: Of a place in a list, in a reference.
_MOST_DIGITS: Final = 9
EMPTY: Final = "empty"
FALSE: Final = "false"
ENUM: Final = "enum"
NOT: Final = "not"
COMBINED: Final = "combined"
OBJECT: Final = "object"
ARRAY: Final = "array"
STRING: Final = "string"
NUMBER: Final = "number"

_OF_TYPE: Final = {"integer": NUMBER, "number": NUMBER, "string": STRING, "object": OBJECT, "array": ARRAY}
_LONGEST_CHAIN: Final = 100
_CRITERIA: Final = ("allOf", "anyOf", "oneOf")
#: Keywords that tell the type where none is said.
_HINTS: Final = {
    OBJECT: (
        *("properties", "patternProperties", "additionalProperties", "required", "minProperties", "maxProperties"),
        *("dependencies", "propertyNames"),
    ),
    ARRAY: ("items", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains"),
    STRING: ("minLength", "maxLength", "pattern", "format"),
    NUMBER: ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


class JsonNode(NamedTuple):
    """A schema of one kind. ``data`` are its keywords; of a combined one, ``criterion`` and ``parts``."""

    kind: str
    data: Any
    base: Document
    """Where its references are resolved."""
    criterion: str = ""
    parts: tuple[Any, ...] = ()


class Document:
    """A schema, and those that it and they refer to by name."""

    def __init__(self, root: Any, others: Mapping[str, Any]) -> None:
        self.root = root
        self._others = others
        self._resolved: dict[str, tuple[Any, Document]] = {}
        self._documents: dict[str, Document] = {}
        self._anchors: dict[str, Any] | None = None

    def resolved(self, reference: str) -> tuple[Any, Document]:
        """What a reference, as it is written, is to, and its document. Raises Malformed. Each is looked up once: a schema of a stranger
        repeats long ones.
        """
        found = self._resolved.get(reference)
        if found is None:
            found = self._resolved[reference] = self._looked_up(unquote(reference))
        return found

    def _looked_up(self, reference: str) -> tuple[Any, Document]:
        where, _, pointer = reference.partition("#")
        document = self if not where or _id(self.root) == where else self._document(where)
        node = document.root
        for step in pointer.split("/")[1:] if pointer.startswith("/") else ():
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and name in node:
                node = node[name]
            elif isinstance(node, list) and (place := number(name, _MOST_DIGITS)) is not None and place < len(node):
                node = node[place]
            else:
                raise Malformed(f"$ref {reference[:200]!r} is to nothing")
        if pointer and not pointer.startswith("/"):
            node = document._anchored(pointer, reference)  # noqa: SLF001 - of this class
        return node, document

    def _document(self, where: str) -> Document:
        if where not in self._documents:
            self._documents[where] = Document(self._other(where), self._others)
        return self._documents[where]

    def _anchored(self, name: str, reference: str) -> Any:
        """The schema with an anchor. All are found in one walk, which is as long as the document."""
        if self._anchors is None:
            self._anchors = _anchors(self.root)
        if name not in self._anchors:
            raise Malformed(f"$ref {reference[:200]!r} is to nothing")
        return self._anchors[name]

    def _other(self, where: str) -> Any:
        for name, other in self._others.items():
            if where in (name, _id(other)):
                return other
        if where.startswith(("http://json-schema.org/", "https://json-schema.org/")):
            return True
        raise Malformed(f"$ref {where[:200]!r} is none of the schema's references; nothing is fetched")

    def node(self, schema: Any) -> JsonNode:
        """A schema of this document as a node. Raises Malformed for references in a circle."""
        seen, base = 0, self
        while isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
            schema, base = base.resolved(schema["$ref"])
            seen += 1
            if seen > _LONGEST_CHAIN:
                raise Malformed("references lead to each other in a circle")
        if schema is False:
            return JsonNode(FALSE, schema, base)
        if not isinstance(schema, dict):
            return JsonNode(EMPTY, schema, base)
        found = _kinds(schema, base)
        if not found:
            return JsonNode(EMPTY, schema, base)
        return found[0] if len(found) == 1 else JsonNode(COMBINED, schema, base, "allOf", tuple(found))


def _anchors(document: Any) -> dict[str, Any]:
    """Schemas by their anchors, the first of each that the walk meets."""
    found: dict[str, Any] = {}
    todo = [document]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            anchor, own = node.get("$anchor"), _id(node)
            if isinstance(anchor, str):
                found.setdefault(anchor, node)
            if isinstance(own, str) and own.startswith("#"):
                found.setdefault(own[1:], node)
            todo += node.values()
        elif isinstance(node, list):
            todo += node
    return found


def _kinds(schema: dict[str, Any], base: Document) -> list[JsonNode]:
    found = []
    if "enum" in schema or "const" in schema:
        found.append(JsonNode(ENUM, schema, base))
    if "not" in schema:
        found.append(JsonNode(NOT, schema, base))
    found += [JsonNode(COMBINED, schema, base, each, tuple(schema[each])) for each in _CRITERIA if each in schema]
    said = schema.get("type")
    if isinstance(said, str):
        found.append(JsonNode(_OF_TYPE.get(said, said), schema, base))
    elif isinstance(said, list):
        parts = tuple(_only(schema, each, base) for each in said)
        found.append(parts[0] if len(parts) == 1 else JsonNode(COMBINED, schema, base, "anyOf", parts))
    else:
        found += [
            JsonNode(kind, schema, base) for kind, hints in _HINTS.items() if any(each in schema for each in hints)
        ]
    return found


def _only(schema: dict[str, Any], kind: str, base: Document) -> JsonNode:
    return JsonNode(_OF_TYPE.get(kind, kind), {**schema, "type": kind}, base)


def _id(document: Any) -> Any:
    return (document.get("$id") or document.get("id")) if isinstance(document, dict) else None
