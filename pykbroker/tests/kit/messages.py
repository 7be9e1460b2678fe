"""Messages of any API, made from the structure of their classes."""

from __future__ import annotations

from typing import Any

from pykbroker.handlers.table import ServedApi
from pykbroker.refusals import shapes
from pykbroker.refusals.naming import own_names
from pykbroker.wire.apis import request_class


def sample(kind: Any) -> Any:
    """A request that names two of everything it can name."""
    made = kind()
    for field in shapes.fields(kind):
        if field.role == "entity":
            setattr(made, field.name, [shapes.entity_class(kind)(entity_type="user", entity_name="u")])
        elif field.many and field.struct is not None:
            setattr(made, field.name, [numbered(sample(field.struct), number) for number in range(2)])
        elif field.many and field.role == "partition":
            setattr(made, field.name, [0, 1])
        elif field.many and field.role is not None:
            setattr(made, field.name, ["x0", "x1"])
    return made


def numbered(struct: Any, number: int) -> Any:
    for role, name in shapes.identity(type(struct)).items():
        if role == "topic_id":
            setattr(struct, name, bytes([number + 1] * 16))
        elif isinstance(getattr(struct, name), int):
            setattr(struct, name, number)
        elif role != "entity":
            setattr(struct, name, f"x{number}")
    return struct


def in_version(message: Any, version: int) -> Any:
    """The message as its reader sees it."""
    out = bytearray()
    message.encode(out, version)
    return type(message).decode(out, 0, version)[0]


def request_in(api: ServedApi, version: int) -> Any:
    """A sample, without what the version has no field for."""
    request = sample(request_class(api.key))
    for field in shapes.fields(type(request)):
        if field.many:
            kept = getattr(request, field.name)
            try:
                if getattr(in_version(request, version), field.name) == []:
                    setattr(request, field.name, [])
            except ValueError:
                setattr(request, field.name, [])
                try:
                    in_version(request, version)
                except ValueError:
                    setattr(request, field.name, kept)
    return in_version(request, version)


def errors(message: Any) -> list[tuple[Any, ...]]:
    """Every error of an answer, with the names of what it is about."""
    found = []

    def look(struct: Any, names: dict[str, Any]) -> None:
        names = own_names(struct, names)
        for field in shapes.fields(type(struct)):
            value = getattr(struct, field.name)
            if field.name in shapes.ERROR_FIELDS and value:
                found.append((tuple(sorted((role, str(each)) for role, each in names.items())), value))
            elif field.many and field.struct is not None:
                for each in value or ():
                    look(each, names)

    look(message, {})
    return sorted(found)
