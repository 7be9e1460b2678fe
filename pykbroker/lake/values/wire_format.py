"""The frame that serializers of a schema registry write before a value: a zero byte, and the schema's id in four bytes.

With Protobuf, the path of the message in the schema follows: a count and as many indexes, as zigzag varints; for the first message,
only a zero.
"""

from __future__ import annotations

from typing import NamedTuple

from pykbroker.lake.values.conversion_error import ConversionError

_LENGTH = 5


class Frame(NamedTuple):
    """The id of a schema and, for Protobuf, the path of a message in it."""

    schema: int
    path: tuple[int, ...] = ()


def unframed(value: bytes) -> tuple[Frame, bytes]:
    """The frame of a value, and the bytes after it. Raises ConversionError if there is no frame."""
    if len(value) < _LENGTH or value[0]:
        raise ConversionError(
            "the value does not begin with a zero byte and the id of a schema, as a registry's serializer writes it"
        )
    return Frame(int.from_bytes(value[1:_LENGTH], "big")), value[_LENGTH:]


def unframed_message(value: bytes) -> tuple[Frame, bytes]:
    """The frame of a Protobuf message, and the bytes after it. Raises ConversionError if there is no frame."""
    frame, rest = unframed(value)
    count, at = _varint(rest, 0)
    path = []
    for _ in range(count):
        step, at = _varint(rest, at)
        path.append(step)
    return Frame(frame.schema, tuple(path) or (0,)), rest[at:]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint, and its end."""
    found = shift = 0
    while True:
        if at >= len(data) or shift > 28:
            raise ConversionError("the path of the message, after the schema's id, is cut off or invalid")
        byte = data[at]
        at += 1
        found |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if found & 1:
        raise ConversionError("the path of the message, after the schema's id, has a negative number")
    return found >> 1, at
