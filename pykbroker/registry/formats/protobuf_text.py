"""The text of a Protobuf file from its descriptor, as which clients in Python register schemas. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.message import Message

from pykbroker.registry.formats.parsed import Malformed
from pykbroker.registry.schema import compact

_SCALARS: Final = {
    number: name.removeprefix("TYPE_").lower() for name, number in FieldDescriptorProto.Type.items()
}  # of messages and enums, the type's name is said
_MAX_TAG: Final = 2**29


def text_of(file: FileDescriptorProto) -> str:
    """A ``.proto`` file with the same descriptor. Custom options, which only their own files explain, are left out. Raises
    Malformed for what is not written: groups and editions.
    """
    if file.syntax not in ("", "proto2", "proto3"):
        raise Malformed(f"a descriptor of {file.syntax[:20]} is not taken: register the text of the file")
    return "\n".join(_File(file).lines()) + "\n"


class _File:
    def __init__(self, file: FileDescriptorProto) -> None:
        self._file = file
        self._is_3 = file.syntax == "proto3"

    def lines(self) -> Iterator[str]:
        file = self._file
        yield f'syntax = "{file.syntax or "proto2"}";'
        if file.package:
            yield f"package {file.package};"
        yield ""
        for index, name in enumerate(file.dependency):
            kind = "public " if index in file.public_dependency else "weak " if index in file.weak_dependency else ""
            yield f"import {kind}{compact(name)};"
        for name, value in _options(file.options):
            yield f"option {name} = {value};"
        for message in file.message_type:
            yield ""
            yield from self._message(message, "")
        for enum in file.enum_type:
            yield ""
            yield from _enum(enum, "")
        yield from self._extensions(file.extension, "")
        for service in file.service:
            yield from ("", f"service {service.name} {{")
            for method in service.method:
                streams = ["stream " if each else "" for each in (method.client_streaming, method.server_streaming)]
                yield f"  rpc {method.name} ({streams[0]}{method.input_type}) returns ({streams[1]}{method.output_type});"
            yield "}"

    def _message(self, message: DescriptorProto, indent: str) -> Iterator[str]:
        inner = f"{indent}  "
        yield f"{indent}message {message.name} {{"
        yield from (f"{inner}option {name} = {value};" for name, value in _options(message.options))
        yield from _reserved(message, inner, _MAX_TAG)
        for each in message.extension_range:
            yield f"{inner}extensions {each.start} to {'max' if each.end >= _MAX_TAG else each.end - 1};"
        maps = {each.name: each for each in message.nested_type if each.options.map_entry}
        for field in message.field:
            if not field.HasField("oneof_index") or field.proto3_optional:
                yield f"{inner}{self._field(field, maps)}"
        choices: dict[int, list[FieldDescriptorProto]] = {}
        for field in message.field:
            if field.HasField("oneof_index") and not field.proto3_optional:
                choices.setdefault(field.oneof_index, []).append(field)
        for index, oneof in enumerate(message.oneof_decl):
            if fields := choices.get(index):
                yield f"{inner}oneof {oneof.name} {{"
                yield from (f"{inner}  {self._field(field, maps, labelled=False)}" for field in fields)
                yield f"{inner}}}"
        for nested in message.nested_type:
            if nested.name not in maps:
                yield from self._message(nested, inner)
        for enum in message.enum_type:
            yield from _enum(enum, inner)
        yield from self._extensions(message.extension, inner)
        yield f"{indent}}}"

    def _extensions(self, extensions: Iterable[FieldDescriptorProto], indent: str) -> Iterator[str]:
        for each in extensions:
            yield from (f"{indent}extend {each.extendee} {{", f"{indent}  {self._field(each, {})}", f"{indent}}}")

    def _field(self, field: FieldDescriptorProto, maps: dict[str, DescriptorProto], *, labelled: bool = True) -> str:
        entry = (
            maps.get(field.type_name.rpartition(".")[2]) if field.type == FieldDescriptorProto.TYPE_MESSAGE else None
        )
        options = dict(_options(field.options))
        if field.HasField("default_value"):
            quoted = field.type in (FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.TYPE_BYTES)
            options["default"] = compact(field.default_value) if quoted else field.default_value
        if field.json_name and field.json_name != _json_name(field.name):
            options["json_name"] = compact(field.json_name)
        said = f" [{', '.join(f'{name} = {value}' for name, value in options.items())}]" if options else ""
        if entry is not None:
            kind = f"map<{_type(entry.field[0])}, {_type(entry.field[1])}>"
        else:
            kind = (self._label(field) if labelled else "") + _type(field)
        return f"{kind} {field.name} = {field.number}{said};"

    def _label(self, field: FieldDescriptorProto) -> str:
        if field.label == FieldDescriptorProto.LABEL_REPEATED:
            return "repeated "
        if field.label == FieldDescriptorProto.LABEL_REQUIRED:
            return "required "
        return "optional " if field.proto3_optional or not self._is_3 else ""


def _type(field: FieldDescriptorProto) -> str:
    if field.type == FieldDescriptorProto.TYPE_GROUP:
        raise _unwritten("groups")
    return str(field.type_name or _SCALARS[field.type])


def _enum(enum: EnumDescriptorProto, indent: str) -> Iterator[str]:
    yield f"{indent}enum {enum.name} {{"
    yield from (f"{indent}  option {name} = {value};" for name, value in _options(enum.options))
    for each in enum.value:
        options = ", ".join(f"{name} = {value}" for name, value in _options(each.options))
        yield f"{indent}  {each.name} = {each.number}{f' [{options}]' if options else ''};"
    yield from _reserved(enum, f"{indent}  ", None)
    yield f"{indent}}}"


def _reserved(found: DescriptorProto | EnumDescriptorProto, indent: str, end: int | None) -> Iterator[str]:
    """``end`` is the end of ranges to the highest tag, and those of messages do not include their ends."""
    for each in found.reserved_range:
        last = each.end if end is None else each.end - 1
        highest = each.end >= (2**31 - 1 if end is None else end)
        until = "" if last == each.start else f" to {'max' if highest else last}"
        yield f"{indent}reserved {each.start}{until};"
    for name in found.reserved_name:
        yield f"{indent}reserved {compact(name)};"


def _options(options: Message) -> Iterator[tuple[str, str]]:
    """Names and values of options, except those that a compiler sets itself."""
    for field, value in options.ListFields():
        if field.name == "map_entry" or field.is_extension or field.message_type is not None:
            continue
        values: list[Any] = list(value) if not isinstance(value, str | bytes | int | float) else [value]
        for each in values:
            if field.enum_type is not None:
                yield field.name, field.enum_type.values_by_number[each].name
            elif isinstance(each, bool):
                yield field.name, "true" if each else "false"
            else:
                yield field.name, compact(each)


def _json_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(f"{each[:1].upper()}{each[1:]}" for each in rest)


def _unwritten(what: str) -> Malformed:
    return Malformed(f"a descriptor with {what} is not taken: register the text of the file")
