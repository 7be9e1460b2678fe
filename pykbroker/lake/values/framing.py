"""The frame that the serializers of a schema registry put before a value: a zero byte, and the schema's number in four.

Protobuf's has after it which message of the schema it is, as the path to it: numbers as zigzag varints, their count before them,
and for the first message a zero alone.
"""

from __future__ import annotations

from typing import NamedTuple

from pykbroker.lake.values.unfit import Unfit

_LENGTH = 5


class Frame(NamedTuple):
    """The number of a schema, and the path to a message in it, which is Protobuf's affair alone."""

    schema: int
    path: tuple[int, ...] = ()


def unframed(value: bytes) -> tuple[Frame, bytes]:
    """The frame of a value and what follows. Raises Unfit where there is none."""
    if len(value) < _LENGTH or value[0]:
        raise Unfit(
            "the value does not begin with a zero byte and the number of a schema, as a registry's serializer writes it"
        )
    return Frame(int.from_bytes(value[1:_LENGTH], "big")), value[_LENGTH:]


def unframed_message(value: bytes) -> tuple[Frame, bytes]:
    """The same with the path of a Protobuf message."""
    frame, rest = unframed(value)
    count, at = _varint(rest, 0)
    path = []
    for _ in range(count):
        step, at = _varint(rest, at)
        path.append(step)
    return Frame(frame.schema, tuple(path) or (0,)), rest[at:]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint, and where it ends."""
    found = shift = 0
    while True:
        if at >= len(data) or shift > 28:
            raise Unfit("the path of the message, after the schema's number, is cut off or none")
        byte = data[at]
        at += 1
        found |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if found & 1:
        raise Unfit("the path of the message, after the schema's number, has a negative number")
    return found >> 1, at
