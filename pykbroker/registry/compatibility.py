"""The seven modes of compatibility, over the comparison of two schemas. Source: "Schema evolution and compatibility" in Confluent's documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from pykbroker.registry.errors import INVALID_LEVEL, RegistryError, invalid_schema
from pykbroker.registry.formats.parsed import Incompatibility, Malformed, Parsed
from pykbroker.registry.schema import compact

T = TypeVar("T")

NONE: Final = "NONE"
LEVELS: Final = (NONE, "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE")
#: Messages of one check.
_MOST: Final = 100


class Earlier:
    """An earlier version, which is parsed when it is compared."""

    def __init__(self, type_: str, version: int, text: str, parse: Callable[[], Parsed]) -> None:
        self.type = type_
        self.version = version
        self.text = text
        self.parse = parse


def checked_level(level: object) -> str:
    """A mode, in capitals. Raises RegistryError."""
    found = level.upper() if isinstance(level, str) else level
    if found not in LEVELS:
        raise RegistryError(
            INVALID_LEVEL,
            "Invalid compatibility level. Valid values are none, backward, forward, full, backward_transitive, forward_transitive, and full_transitive",
        )
    return str(found)


def compared(level: str, versions: Sequence[T]) -> Sequence[T]:
    """Those of the versions, the oldest first, that a mode is about."""
    if level == NONE:
        return ()
    return versions if level.endswith("_TRANSITIVE") else versions[-1:]


def incompatibilities(type_: str, schema: Parsed, level: str, earlier: Sequence[Earlier]) -> list[str]:
    """Why a new schema is not compatible with the earlier versions, the oldest first: each message says the rule, the path and the version.

    Nothing if it is. Raises RegistryError for schemas that are too complex to be compared.
    """
    try:
        for each in reversed(compared(level, earlier)):
            found = list(_messages(type_, schema, level, each))
            if found:
                messages = [*found[:_MOST], *([f"and {len(found) - _MOST} more"] if len(found) > _MOST else [])]
                about = f"{{oldSchemaVersion: {each.version}}}, {{oldSchema: '{each.text[:2000]}'}}"
                return [*messages, about, f"{{compatibility: '{level}'}}"]
    except Malformed as error:
        raise invalid_schema(f"Compatibility cannot be checked: {error}") from error
    return []


def _messages(type_: str, schema: Parsed, level: str, earlier: Earlier) -> Iterator[str]:
    if earlier.type != type_:
        yield f"Incompatible because of different schema type: {earlier.type} before, {type_} now"
        return
    before = earlier.parse()
    if level.startswith(("BACKWARD", "FULL")):
        yield from (_message(each, "new", "old") for each in schema.cannot_read(before))
    if level.startswith(("FORWARD", "FULL")):
        yield from (_message(each, "old", "new") for each in before.cannot_read(schema))


def _message(found: Incompatibility, reader: str, writer: str) -> str:
    facts = f": {found.facts}" if found.facts else ""
    description = f"At the path '{found.path}', the {reader} schema cannot read what the {writer} one writes ({found.rule}){facts}"
    return f"{{errorType:{compact(found.rule)}, description:{compact(description)}, additionalInfo:{compact(found.facts)}}}"
