"""Emits what Kafka's JSON of a record depends on: names, versions and defaults of fields."""

from __future__ import annotations

from scripts.wiregen.code import Code
from scripts.wiregen.schema import Array, Field, MessageSchema, Scalar, StructSchema


def layouts_text(messages: list[MessageSchema], notice: str) -> str:
    """The source of wire/internal/layouts.py."""
    code = Code()
    code.line(f'"""{notice}')
    code.line()
    code.line("The fields of each record of an internal topic, as Kafka writes it as JSON:")
    code.line(
        "(name in JSON, attribute, first version, last version, tagged, type, struct, default), by struct and record."
    )
    code.line('"""')
    code.line()
    code.line("from __future__ import annotations")
    code.line()
    code.line("from typing import Any")
    code.line()
    code.line("Layout = tuple[str, str, int, int, bool, str, str | None, Any]")
    code.line()
    code.line("LAYOUTS: dict[str, dict[str, tuple[Layout, ...]]] = {")
    for message in messages:
        code.line(f"    {message.name!r}: {{")
        for struct in (message.body, *message.structs):
            _emit(code, struct)
        code.line("    },")
    code.line("}")
    return str(code) + "\n"


def _emit(code: Code, struct: StructSchema) -> None:
    code.line(f"        {struct.name!r}: (")
    for each in struct.fields:
        entry = (
            each.json, each.name, each.versions.low, each.versions.high, bool(each.tagged), _type(each), each.struct,
            each.default,
        )  # fmt: skip
        code.line(f"            {entry!r},")
    code.line("        ),")


def _type(each: Field) -> str:
    inner = each.type.element if isinstance(each.type, Array) else each.type
    return inner.name if isinstance(inner, Scalar) else "struct"
