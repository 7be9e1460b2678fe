"""The structure of the generated messages: lists, names, and error fields.

There is no list of APIs. A field has a *role* (topic, partition, group, ...) by its name and class; an element of a request and
one of an answer are counterparts if they share a role and its value.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, TypeVar, cast

from pykbroker.wire.errors import WireError
from pykbroker.wire.message import Message, WireStruct

F = TypeVar("F")


def once(function: F) -> F:
    """``cache`` for classes of messages: their instances cannot be hashed, they themselves can."""
    return cast("F", cache(cast("Any", function)))


ERROR_FIELDS = ("error_code", "partition_error_code")
#: Fields that say the role by themselves, also as lists of plain values.
_ROLES = {
    **dict.fromkeys(("topic", "topic_name", "topic_names"), "topic"),
    "topic_id": "topic_id",
    **dict.fromkeys(
        ("partition", "partition_index", "partition_id", "index", "partitions", "partition_indexes"), "partition"
    ),
    **dict.fromkeys(("group_id", "groups", "group_ids", "groups_names"), "group"),
    **dict.fromkeys(("key", "coordinator_keys"), "key"),
    **dict.fromkeys(("transactional_id", "transactional_ids"), "transactional_id"),
    **{
        name: name
        for name in (
            "member_id",
            "producer_id",
            "resource_name",
            "resource_type",
            "user",
            "feature",
            "entity",
            "log_dir",
        )
    },
}


class Field(NamedTuple):
    """``struct`` is the class of the value, or of the elements of a list of them; None for plain values."""

    name: str
    struct: type[WireStruct] | None
    many: bool
    role: str | None


class Site(NamedTuple):
    """A place for an error code: in ``field`` of the elements at the end of the lists of ``path``. ``worded``: there is room
    for a message, too.
    """

    path: tuple[str, ...]
    field: str
    level: str
    worded: bool = False


@once
def fields(kind: type[WireStruct]) -> tuple[Field, ...]:
    """The fields of a message or a struct, in order."""
    module = sys.modules[kind.__module__]
    found = []
    for name, parameter in inspect.signature(kind.__init__).parameters.items():
        if name in ("self", "unknown_tagged_fields"):
            continue
        annotation = str(parameter.annotation).removesuffix(" | None")
        many = annotation.startswith("list[")
        struct = getattr(module, annotation[5:-1] if many else annotation, None)
        if not (isinstance(struct, type) and issubclass(struct, WireStruct)):
            struct = None
        found.append(Field(name, struct, many, None if many and struct else _role(kind.__name__, name)))
    return tuple(found) if "entity" not in kind.__slots__ else tuple(_entity(field) for field in found)


@once
def entity_class(kind: type[WireStruct]) -> Any:
    """The class of the elements of a client quota's entity, in an answer."""
    annotation = str(inspect.signature(kind.__init__).parameters["entity"].annotation)
    return getattr(sys.modules[kind.__module__], annotation[5:-1])


def _entity(field: Field) -> Field:
    """A client quota's entity is a list, and a name as a whole."""
    return field._replace(struct=None, many=False, role="entity") if field.name == "entity" else field


def _role(kind: str, name: str) -> str | None:
    if name == "name":
        if "Topic" in kind and "Config" not in kind:
            return "topic"
        return "user" if "Scram" in kind or kind == "UserName" else None
    return _ROLES.get(name)


@once
def field(kind: type[WireStruct], name: str) -> Field:
    """A field by its name."""
    return next(each for each in fields(kind) if each.name == name)


@once
def element(kind: type[WireStruct], path: tuple[str, ...]) -> type[WireStruct]:
    """The class of the elements at the end of a path of lists."""
    for name in path:
        struct = field(kind, name).struct
        assert struct is not None
        kind = struct
    return kind


@once
def identity(kind: type[WireStruct]) -> dict[str, str]:
    """The roles that tell elements of a class apart, each with its field."""
    return {each.role: each.name for each in fields(kind) if each.role is not None and not each.many}


@once
def roles(kind: type[WireStruct]) -> frozenset[str]:
    """All that a message of a class can name."""
    found = {each.role for each in fields(kind) if each.role is not None}
    for each in parts(kind):
        if each.struct is not None:
            found |= roles(each.struct)
    return frozenset(found)


@once
def parts(kind: type[WireStruct]) -> tuple[Field, ...]:
    """The lists of a request that say what it is about. What is to be assigned, or is no longer wanted, is not that."""
    return tuple(
        each
        for each in fields(kind)
        if each.many
        and not each.name.startswith(("forgotten", "assignments", "protocols"))
        and (each.role is not None or (each.struct is not None and (identity(each.struct) or parts(each.struct))))
    )


@once
def error_sites(kind: type[WireStruct]) -> tuple[Site, ...]:
    """Every place of an answer that can say an error, the deepest first."""
    return tuple(sorted(_sites(kind, ()), key=lambda site: -len(site.path)))


def _sites(kind: type[WireStruct], path: tuple[str, ...]) -> Iterator[Site]:
    for each in fields(kind):
        if each.name in ERROR_FIELDS:
            yield Site(path, each.name, _level(kind) if path else "top")
        elif each.many and each.struct is not None:
            yield from _sites(each.struct, (*path, each.name))


def _level(kind: type[WireStruct]) -> str:
    named = identity(kind)
    return next(
        (level for level in ("partition", "topic", "member", "group") if level in {**named} or f"{level}_id" in named),
        "item",
    )


@once
def carries_error(kind: type[Message], site: Site, version: int) -> bool:
    """Whether a version of an answer has that place: an answer with it there is the same when it is read again."""
    return _carries(kind, site.path, site.field, 1, version)


@once
def carries_message(kind: type[Message], site: Site, version: int) -> bool:
    """Whether it has room for words there."""
    has_words = "error_message" in element(kind, site.path).__slots__
    return has_words and _carries(kind, site.path, "error_message", "why", version)


def _carries(kind: type[Message], path: tuple[str, ...], name: str, value: Any, version: int) -> bool:
    message = kind()
    leaf: Any = message
    for each in path:
        struct = field(type(leaf), each).struct
        assert struct is not None
        inner = plain(struct)
        setattr(leaf, each, [inner])
        leaf = inner
    setattr(leaf, name, value)
    return _survives(message, version, lambda read: getattr(_first(read, path), name, None) == value)


@once
def carries_throttle(kind: type[Message], version: int) -> bool:
    """Whether a version of an answer has throttle_time_ms."""
    if "throttle_time_ms" not in kind.__slots__:
        return False
    message: Any = kind()
    message.throttle_time_ms = 1
    return _survives(message, version, lambda read: read.throttle_time_ms == 1)


def _survives(message: Message, version: int, holds: Any) -> bool:
    out = bytearray()
    try:
        message.encode(out, version)
        return bool(holds(type(message).decode(out, 0, version)[0]))
    except WireError:
        return False


def _first(message: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        inner = getattr(message, name)
        if not inner:
            return None
        message = inner[0]
    return message


#: What Kafka puts where an answer has nothing to tell.
_UNKNOWN = frozenset(
    [
        "base_offset",
        "offset",
        "timestamp",
        "committed_offset",
        "end_offset",
        "low_watermark",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "generation_id",
        "producer_id",
        "producer_epoch",
        "leader_id",
        "leader_epoch",
        "node_id",
        "current_txn_start_offset",
    ]
)


def plain(kind: type[WireStruct]) -> Any:
    """An element that tells nothing but that there is nothing to tell."""
    made: Any = kind()
    for each in fields(kind):
        value = getattr(made, each.name)
        if each.name in _UNKNOWN and value == 0:
            setattr(made, each.name, -1)
        elif each.name == "records":
            made.records = b""
    return made
