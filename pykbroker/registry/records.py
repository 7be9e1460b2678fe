"""The records of ``_schemas``, in the format of Confluent's registry: JSON with a fixed order of fields. Pure.

A key has its ``keytype`` and ``magic``; no value is a tombstone. Records of other types, and what cannot be read, are left alone.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeGuard

from pykbroker.registry.attached import CONFIG_FIELDS, misshapen
from pykbroker.registry.compatibility import LEVELS, NONE
from pykbroker.registry.schema import Schema, Version, compact
from pykbroker.runtime.json_text import is_larger, loads

_SCHEMA_MAGIC: Final = 1
#: Those of keys of schemas that are known, the first that of early registries.
_SCHEMA_MAGICS: Final = (0, 1)
#: Bytes of a key or a value, and characters of each field but those of a schema, of which texts alone are taken: more than any registry writes.
_LARGEST: Final = 8 * 1024 * 1024
_LARGEST_FIELD: Final = 1024 * 1024
_OF_SCHEMAS: Final = ("schema", "references")
#: Characters of the name of a subject or a context: no request can have a longer one.
_LONGEST_NAME: Final = 8 * 1024


class SchemaKey(NamedTuple):
    """A version of a subject."""

    subject: str
    version: int


class ConfigKey(NamedTuple):
    """The configuration of a subject; None is all of them."""

    subject: str | None


class ModeKey(NamedTuple):
    """The mode of a subject; None is all of them."""

    subject: str | None


class DeleteSubjectKey(NamedTuple):
    """All versions of a subject, up to that of the value, are deleted softly."""

    subject: str


class ClearSubjectKey(NamedTuple):
    """What a registry remembers of permanently deleted versions of a subject is forgotten."""

    subject: str | None


class ContextKey(NamedTuple):
    """A context in which something was registered."""

    context: str


Key = SchemaKey | ConfigKey | ModeKey | DeleteSubjectKey | ClearSubjectKey | ContextKey
Change = tuple[Key, dict[str, Any] | None]


class Unreadable(ValueError):
    """The record is none that this registry knows."""


def schema_value(found: Version) -> dict[str, Any]:
    """The value of a SchemaKey."""
    fields = found.schema.as_json()
    return {
        "subject": found.subject,
        "version": found.version,
        "id": found.id,
        "guid": found.guid,
        **fields,
        "deleted": found.deleted,
    }


def version_of(value: dict[str, Any]) -> Version:
    """The reverse. Raises Unreadable."""
    try:
        schema = Schema.of_json(value)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise Unreadable(f"it has no schema: {error}") from error
    texts = [schema.text, schema.type, value.get("guid") or ""]
    for each in schema.references:
        texts += (each.name, each.subject)
    if not all(isinstance(each, str) for each in texts) or not all(
        _is_number(each.version) for each in schema.references
    ):
        raise Unreadable("a field of its schema is of another type")
    subject, version, number = _text(value, "subject"), _number(value, "version"), _number(value, "id")
    if version < 1 or number < 0:  # -1 stands for the latest
        raise Unreadable("its version or its id is out of range")
    return Version(subject, version, number, schema, value.get("guid") or schema.guid(), bool(value.get("deleted")))


def config_of(value: dict[str, Any]) -> dict[str, Any]:
    """A configuration without what is of another type than it should be, and without a level that is unknown: all schemas would be compatible."""
    fine = {name: found for name, found in value.items() if isinstance(found, CONFIG_FIELDS.get(name, object))}
    if fine.get("compatibilityLevel", NONE) not in LEVELS:
        del fine["compatibilityLevel"]
    while name := misshapen(fine):
        del fine[name]
    return fine


def encode(change: Change) -> tuple[bytes, bytes | None]:
    """A record's key and value."""
    key, value = change
    return compact(_key(key)).encode("utf-8", "surrogatepass"), (
        None if value is None else compact(value).encode("utf-8", "surrogatepass")
    )


def _key(key: Key) -> dict[str, Any]:
    match key:
        case SchemaKey(subject, version):
            return {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": _SCHEMA_MAGIC}
        case ContextKey(context):
            return {"keytype": "CONTEXT", "tenant": "default", "context": context, "magic": 0}
        case ConfigKey(subject):
            return {"keytype": "CONFIG", "subject": subject, "magic": 0}
        case ModeKey(subject):
            return {"keytype": "MODE", "subject": subject, "magic": 0}
        case DeleteSubjectKey(subject):
            return {"keytype": "DELETE_SUBJECT", "subject": subject, "magic": 0}
        case ClearSubjectKey(subject):
            return {"keytype": "CLEAR_SUBJECT", "subject": subject, "magic": 0}


def decode(key: bytes | None, value: bytes | None) -> Change | None:
    """A record as a change; None for a NOOP and for types that others add. Raises Unreadable."""
    said = _object(key)
    match said.get("keytype"):
        case "SCHEMA":
            if said.get("magic", _SCHEMA_MAGIC) not in _SCHEMA_MAGICS:
                raise Unreadable(f"the magic of its key is none of {_SCHEMA_MAGICS}")
            where: Key = SchemaKey(_text(said, "subject"), _number(said, "version"))
        case "CONFIG":
            where = ConfigKey(_text_or_none(said, "subject"))
        case "MODE":
            where = ModeKey(_text_or_none(said, "subject"))
        case "DELETE_SUBJECT":
            where = DeleteSubjectKey(_text(said, "subject"))
        case "CLEAR_SUBJECT":
            where = ClearSubjectKey(_text_or_none(said, "subject"))
        case "CONTEXT":
            where = ContextKey(_text(said, "context"))
        case _:
            return None
    return where, None if value is None else _object(value)


def _object(data: bytes | None) -> dict[str, Any]:
    if len(data or b"") > _LARGEST:
        raise Unreadable(f"it is of more than {_LARGEST} bytes")
    try:
        found = loads((data or b"").decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise Unreadable("it is no object of JSON")
    if any(name not in _OF_SCHEMAS and is_larger(each, _LARGEST_FIELD) for name, each in found.items()):
        raise Unreadable("a field of it is too large, or nested too deep")
    return found


def _text(said: dict[str, Any], name: str) -> str:
    found = said.get(name)
    if not isinstance(found, str) or len(found) > _LONGEST_NAME:
        raise Unreadable(f"{name} is no text, or a long one")
    return found


def _text_or_none(said: dict[str, Any], name: str) -> str | None:
    return None if said.get(name) is None else _text(said, name)


def _number(said: dict[str, Any], name: str) -> int:
    found = said.get(name)
    if not _is_number(found):
        raise Unreadable(f"{name} is no number")
    return found


def _is_number(found: Any) -> TypeGuard[int]:
    """Whether this is a number of Java's int."""
    return isinstance(found, int) and not isinstance(found, bool) and -(2**31) <= found < 2**31
