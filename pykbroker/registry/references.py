"""The texts of the schemas that a schema refers to, each after those that it refers to itself. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pykbroker.registry.errors import TOO_LARGE, RegistryError, invalid_schema
from pykbroker.registry.formats.parsed import LARGEST
from pykbroker.registry.parsing import SchemaSource
from pykbroker.registry.schema import Reference, Schema, abbreviated
from pykbroker.registry.state import RegistryState
from pykbroker.registry.subjects import LATEST

#: References of a schema, with those of the schemas that they are to; and how deep these lead.
MOST_REFERENCES: Final = 500
_DEEPEST: Final = 50


def source(
    state: RegistryState, subject: str, schema: Schema, *, new: bool = False, normalize: bool = False
) -> SchemaSource:
    """What is parsed. A new schema refers to versions that are not deleted. Raises RegistryError."""
    texts: dict[str, str] = {}
    _collect(state, subject, schema, texts, 0, new=new, depth=0)
    return SchemaSource(schema.type, schema.text, tuple(texts.items()), normalize)


def numbered(state: RegistryState, subject: str, schema: Schema) -> Schema:
    """The schema with the numbers of the versions that it refers to as the latest."""
    if all(each.version != LATEST for each in schema.references):
        return schema
    found = (state.target(subject, each.subject, each.version).version for each in schema.references)
    numbers = [each._replace(version=number) for each, number in zip(schema.references, found, strict=True)]
    return replace(schema, references=tuple(numbers))


def _collect(
    state: RegistryState, subject: str, schema: Schema, texts: dict[str, str], size: int, *, new: bool, depth: int
) -> int:
    """Adds the texts; ``size`` is that of those that are there, and that of all is returned."""
    if depth > _DEEPEST:
        raise invalid_schema(f"references lead more than {_DEEPEST} schemas deep, or in a circle")
    for each in schema.references:
        if each.name in texts:
            continue
        key = state.target(subject, each.subject, each.version)
        found = state.version(key.subject, key.version, deleted=not new)
        if found is None:
            raise _missing(each)
        size = _collect(state, found.subject, found.schema, texts, size, new=False, depth=depth + 1)
        texts[each.name] = found.schema.text
        size += len(found.schema.text)
        if len(texts) > MOST_REFERENCES or size > LARGEST:
            raise RegistryError(
                TOO_LARGE, f"A schema refers to at most {MOST_REFERENCES} others, of {LARGEST} characters together"
            )
    return size


def _missing(reference: Reference) -> RegistryError:
    return invalid_schema(
        f'No schema reference found for subject "{abbreviated(reference.subject)}" and version {reference.version}'
    )
