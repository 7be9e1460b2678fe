from __future__ import annotations

import pytest

pytest.importorskip("numpy")

import numpy as np

from pykbroker.lake.direct.varints import INT32_BITS, INT64_BITS, LOOK_AHEAD, Cursor
from pykbroker.wire.errors import WireError


def varint(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def cursor_over(parts: list[bytes]) -> Cursor:
    lengths = np.array([len(part) for part in parts], np.int64)
    data = np.frombuffer(b"".join(parts) + bytes(LOOK_AHEAD), np.uint8)
    return Cursor(data, np.cumsum(lengths) - lengths)


def values(bits: int) -> list[int]:
    """Both sides of every power of two, so that every number of bytes is there."""
    powers = [1 << bit for bit in range(bits - 1)]
    found = {0, *(each + step for each in powers for step in (-1, 0, 1))}
    return sorted(each for value in found for each in (value, -value) if -(1 << bits - 1) <= each < 1 << bits - 1)


@pytest.mark.parametrize("bits", [INT32_BITS, INT64_BITS])
@pytest.mark.parametrize("largest", [63, 8191, 1 << 20, 1 << 63], ids=["one byte", "two", "three", "all"])
def test_numbers_of_all_sizes_are_read_together(bits: int, largest: int) -> None:
    wanted = [value for value in values(bits) if -largest <= value < largest]
    parts = [varint(value) for value in wanted]
    cursor = cursor_over(parts)
    before = cursor.at
    assert cursor.number(bits).tolist() == wanted
    assert (cursor.at - before).tolist() == [len(part) for part in parts]


def test_excess_bits_of_the_last_byte_are_dropped() -> None:
    assert cursor_over([b"\xff\xff\xff\xff\x7f", b"\x02"]).number().tolist() == [-(1 << 31), 1]


@pytest.mark.parametrize(("bits", "size"), [(INT32_BITS, 5), (INT64_BITS, 10)])
def test_a_number_that_does_not_end_is_refused(bits: int, size: int) -> None:
    with pytest.raises(WireError, match=f"longer than {bits} bits"):
        cursor_over([b"\x02", b"\x80" * size + b"\x01"]).number(bits)


def test_a_stretch_is_a_length_and_its_bytes() -> None:
    cursor = cursor_over([varint(3) + b"abc", varint(-1), varint(0)])
    at, length = cursor.stretch()
    assert (at.tolist(), length.tolist(), cursor.at.tolist()) == ([1, 5, 6], [3, -1, 0], [4, 5, 6])
