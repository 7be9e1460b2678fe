"""Keys, versions and fields of messages and records, as lines that two releases can be compared by."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.wiregen.schema import Array, Field, MessageSchema, Nested, StructSchema


def lines(schemas: list[MessageSchema]) -> Iterator[str]:
    """A line for each message with a version, and one for each of its fields."""
    for message in schemas:
        if not message.valid:
            continue
        key = "" if message.api_key is None else f" (key {message.api_key})"
        state = ", the last unstable" if message.unstable else ""
        yield f"{message.kind} {message.name}{key}: versions {message.valid}, flexible {message.flexible}{state}"
        for struct in (message.body, *message.structs):
            for field in struct.fields:
                yield f"{message.kind} {message.name}: {_field(struct, field)}"


def _field(struct: StructSchema, field: Field) -> str:
    tag = f", tag {field.tag}" if field.tagged else ""
    null = f", null in {field.nullable}" if field.nullable else ""
    default = "" if field.default in (0, "", b"", [], False, None) else f", default {field.default!r}"
    return f"{struct.name}.{field.json} {_type(field)} in {field.versions}{tag}{null}{default}"


def _type(field: Field) -> str:
    inner = field.type.element if isinstance(field.type, Array) else field.type
    assert isinstance(inner, Nested) or inner.name
    return f"[]{inner.name}" if isinstance(field.type, Array) else inner.name
