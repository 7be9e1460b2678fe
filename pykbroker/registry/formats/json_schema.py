"""JSON Schema: checked against its draft by the package jsonschema; ``json_diff.py`` compares two of them.

No reference is fetched: it is to the schema itself, or to one of its registered references.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jsonschema import Draft7Validator
from jsonschema.exceptions import SchemaError
from jsonschema.validators import validator_for

from pykbroker.registry.formats.json_diff import compare
from pykbroker.registry.formats.json_nodes import Document
from pykbroker.registry.formats.parsed import Budget, Incompatibility, Malformed, json_of
from pykbroker.registry.schema import compact

_MOST_REFERENCES: Final = 10_000
#: Pairs of values that are compared, a microsecond each, and how many of a list are few; lists that need not be of different values.
_MOST_PAIRS: Final = 4_000_000
_FEW: Final = 20
_LISTS_OF_SCHEMAS: Final = ("items", "prefixItems", "allOf", "anyOf", "oneOf", "examples", "default", "const")


class JsonSchema:
    """A parsed schema."""

    def __init__(self, document: Document, text: str) -> None:
        self._document = document
        self.text = text

    def cannot_read(self, writer: JsonSchema) -> list[Incompatibility]:
        """See Parsed."""
        try:
            return compare(writer._document, self._document, Budget())
        except RecursionError as error:
            raise Malformed("the schemas are nested too deep to be compared") from error
        except OverflowError as error:  # of a number that no float is as large as
            raise Malformed(f"the schemas cannot be compared: {error}") from error


def parse(text: str, references: Mapping[str, str], *, normalize: bool = False) -> JsonSchema:
    """Parse a schema; ``references`` are the texts of the schemas that it refers to, by name. Raises Malformed."""
    root = json_of(text)
    if not isinstance(root, dict | bool):
        raise Malformed("a schema is an object of JSON, or true or false")
    if isinstance(root, dict) and not isinstance(root.get("$schema", ""), str):
        raise Malformed("$schema is a text")
    _check_lists(root)
    others = {name: json_of(each) for name, each in references.items()}
    try:
        validator_for(root, Draft7Validator).check_schema(root)
    except SchemaError as error:
        raise Malformed(f"{error.json_path}: {error.message[:500]}") from error
    except RecursionError as error:
        raise Malformed("it is nested too deep") from error
    except OverflowError as error:  # of a pattern
        raise Malformed(str(error)) from error
    document = Document(root, others)
    _check_references(document)
    return JsonSchema(document, compact(_sorted(root)) if normalize else compact(root))


def _check_lists(root: Any) -> None:
    """Raises Malformed for lists that are too long of what cannot be sorted: where a draft wants values to be different, the package compares
    each of them with each.
    """
    pairs = 0
    todo: list[Any] = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            for name, found in node.items():
                if isinstance(found, list) and name not in _LISTS_OF_SCHEMAS and not _is_sortable(found):
                    pairs += len(found) * _size(found)
                    if pairs > _MOST_PAIRS:
                        raise Malformed(f"{name[:100]}: its values are of different kinds, and too many to be checked")
            todo += node.values()
        elif isinstance(node, list):
            todo += node


def _is_sortable(values: list[Any]) -> bool:
    kinds = set(map(type, values))
    return len(values) <= _FEW or kinds == {str} or kinds <= {int, float}


def _size(values: list[Any]) -> int:
    """How many values there are, with those inside."""
    count, todo = 0, list(values)
    while todo:
        node = todo.pop()
        count += 1
        if isinstance(node, dict):
            todo += node.values()
        elif isinstance(node, list):
            todo += node
    return count


def _check_references(document: Document) -> None:
    """Raises Malformed for a reference to nothing."""
    todo: list[Any] = [document.root]
    count = 0
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo += node
        elif isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str):
                count += 1
                if count > _MOST_REFERENCES:
                    raise Malformed(f"it has more than {_MOST_REFERENCES} references")
                document.resolved(reference)
            todo += [value for name, value in node.items() if name not in ("enum", "const", "default", "examples")]


def _sorted(node: Any) -> Any:
    if isinstance(node, dict):
        return {name: _sorted(node[name]) for name in sorted(node)}
    return [_sorted(each) for each in node] if isinstance(node, list) else node
