"""MetricsData of OpenTelemetry, as clients send it."""

from __future__ import annotations

import struct
from collections.abc import Mapping

GAUGE, SUM, HISTOGRAM, SUMMARY = 5, 7, 9, 11
DELTA, CUMULATIVE = 1, 2


def varint(number: int) -> bytes:
    """A number as protobuf has it."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def inside(field: int, *parts: bytes) -> bytes:
    """A field with bytes."""
    data = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(data)) + data


def labels(field: int, given: Mapping[str, str | int | float | bool]) -> bytes:
    """Attributes."""
    out = b""
    for name, value in given.items():
        if isinstance(value, bool):
            inner = b"\x10" + varint(value)
        elif isinstance(value, int):
            inner = b"\x18" + varint(value & 0xFFFFFFFFFFFFFFFF)
        elif isinstance(value, float):
            inner = b"\x21" + struct.pack("<d", value)
        else:
            inner = inside(1, value.encode())
        out += inside(field, inside(1, name.encode()), inside(2, inner))
    return out


def point(value: float, **given: str | int | float | bool) -> bytes:
    """A NumberDataPoint."""
    number = b"\x31" + struct.pack("<q", value) if isinstance(value, int) else b"\x21" + struct.pack("<d", value)
    return inside(1, b"\x19" + bytes(8), number, labels(7, given))


def gauge(name: str, *points: bytes) -> bytes:
    """A Metric."""
    return inside(2, inside(1, name.encode()), inside(GAUGE, *points))


def total(name: str, *points: bytes, temporality: int = DELTA, only_grows: bool = True) -> bytes:
    """A Metric."""
    body = (*points, b"\x10" + varint(temporality), b"\x18" + varint(only_grows))
    return inside(2, inside(1, name.encode()), inside(SUM, *body))


def metrics(*some: bytes, **resource: str) -> bytes:
    """MetricsData of one client."""
    return inside(1, inside(1, labels(1, resource)), inside(2, *some))
