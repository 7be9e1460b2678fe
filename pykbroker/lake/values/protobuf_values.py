"""Protobuf: the columns of a message, and its values as objects like those of JSON.

As Protobuf specifies, an unset field without presence has its default; one with presence (``optional``, a message, a member of a
``oneof``) is null. Unknown fields are ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError

from pykbroker.lake.errors import LakeError
from pykbroker.lake.values.conversion_error import ConversionError
from pykbroker.lake.values.types import Columns, Type, array, mapping, struct

_TIMESTAMP = "google.protobuf.Timestamp"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KINDS: dict[int, Type] = {
    FieldDescriptor.CPPTYPE_INT32: "BIGINT", FieldDescriptor.CPPTYPE_INT64: "BIGINT",
    FieldDescriptor.CPPTYPE_UINT32: "BIGINT", FieldDescriptor.CPPTYPE_UINT64: "DECIMAL(20,0)",
    FieldDescriptor.CPPTYPE_DOUBLE: "DOUBLE", FieldDescriptor.CPPTYPE_FLOAT: "DOUBLE",
    FieldDescriptor.CPPTYPE_BOOL: "BOOLEAN", FieldDescriptor.CPPTYPE_ENUM: "STRING",
}  # fmt: skip
Read = Callable[[Any], Any]


class ProtobufSchema:
    """A compiled schema: the bytes of a FileDescriptorSet, whose last file is the schema's own. Raises LakeError if it is none."""

    def __init__(self, descriptors: bytes) -> None:
        self._files = descriptor_pb2.FileDescriptorSet()
        self._pool = descriptor_pool.DescriptorPool()
        try:
            self._files.ParseFromString(descriptors)
            for file in self._files.file:
                self._pool.Add(file)
        except (DecodeError, TypeError) as error:
            raise LakeError(
                f"This is no compiled Protobuf schema, as protoc --include_imports makes one: {error}"
            ) from None
        if not self._files.file:
            raise LakeError("The compiled Protobuf schema has no file in it.")

    def at(self, path: tuple[int, ...]) -> Descriptor:
        """The message of the last file at a path of indexes. Raises ConversionError if there is none."""
        package = self._files.file[-1].package
        name, messages = [package] if package else [], self._files.file[-1].message_type
        for step in path:
            if step >= len(messages):
                raise ConversionError(f"the schema has no message at the path {'.'.join(map(str, path))}")
            name.append(messages[step].name)
            messages = messages[step].nested_type
        return self._pool.FindMessageTypeByName(".".join(name))

    def named(self, name: str) -> Descriptor:
        """A message by its full name. Raises LakeError if there is none."""
        try:
            return self._pool.FindMessageTypeByName(name)
        except KeyError:
            known = ", ".join(each.name for file in self._files.file for each in file.message_type)
            raise LakeError(f"The schema has no message {name!r}; it has {known}. Say its package, too.") from None


def columns_of(message: Descriptor) -> Columns:
    """The columns of a message. Raises LakeError if it contains itself."""
    return _fields(message, ())


def decoder_of(message: Descriptor) -> Callable[[bytes], dict[str, Any]]:
    """The function that decodes a value; it raises ConversionError if the value is no such message."""
    factory = message_factory.GetMessageClass(message)
    read = _reading(message)

    def decode(value: bytes) -> dict[str, Any]:
        try:
            found = factory.FromString(value)
        except DecodeError as error:
            raise ConversionError(f"the value is no {message.full_name}: {error}") from None
        return read(found)

    return decode


def _fields(message: Descriptor, above: tuple[str, ...]) -> Columns:
    if message.full_name in above:
        raise LakeError(f"The message {message.full_name} has itself in it, so there are no columns for it.")
    inner = (*above, message.full_name)
    return {field.name: _field(field, inner) for field in message.fields if not _is_empty(field)}


def _is_empty(field: FieldDescriptor) -> bool:
    """Whether a field is a message without fields, which has no column."""
    return field.message_type is not None and not field.message_type.fields


def _field(field: FieldDescriptor, above: tuple[str, ...]) -> Type:
    if _is_map(field):
        return mapping(_single(field.message_type.fields_by_name["value"], above))
    single = _single(field, above)
    return array(single) if field.is_repeated else single


def _single(field: FieldDescriptor, above: tuple[str, ...]) -> Type:
    if field.message_type is not None:
        return "TIMESTAMP" if field.message_type.full_name == _TIMESTAMP else struct(_fields(field.message_type, above))
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return "BINARY" if field.type == FieldDescriptor.TYPE_BYTES else "STRING"
    return _KINDS[field.cpp_type]


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _reading(message: Descriptor) -> Read:
    if message.full_name == _TIMESTAMP:
        return lambda each: _EPOCH + timedelta(seconds=each.seconds, microseconds=each.nanos // 1000)
    fields = [
        (field.name, field.has_presence, _field_reading(field)) for field in message.fields if not _is_empty(field)
    ]

    def read(found: Any) -> dict[str, Any]:
        try:
            return {
                name: each(getattr(found, name))
                for name, presence, each in fields
                if not presence or found.HasField(name)
            }
        except OverflowError as error:
            raise ConversionError(
                f"the value of {message.full_name} has a time that no calendar knows: {error}"
            ) from None

    return read


def _field_reading(field: FieldDescriptor) -> Read:
    if _is_map(field):
        each = _single_reading(field.message_type.fields_by_name["value"])
        return lambda found: {_key(name): each(value) for name, value in found.items()}
    single = _single_reading(field)
    return (lambda found: [single(each) for each in found]) if field.is_repeated else single


def _key(name: Any) -> str:
    return str(name).lower() if isinstance(name, bool) else str(name)


def _single_reading(field: FieldDescriptor) -> Read:
    if field.message_type is not None:
        return _reading(field.message_type)
    if field.enum_type is not None:
        names = {each.number: each.name for each in field.enum_type.values}
        return lambda number: names.get(number, str(number))
    return lambda found: found
