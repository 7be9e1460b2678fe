"""Reads zigzag varints and length-prefixed bytes (KIP-98) of many records at once."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from pykbroker.wire.errors import WireError

Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Bytes: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint8]]

LOOK_AHEAD = 32
"""Bytes that must follow the last record, so that reading a varint near its end stays in bounds."""
INT32_BITS = 32
INT64_BITS = 64
_USUAL = 3
"""This many bytes of a varint are read of all records together; longer ones are rare and are read separately."""


class Cursor:
    """A position in each of many records; every read is of all records.

    A position beyond the data raises IndexError. Whether one is beyond its record, the caller must check.
    """

    __slots__ = ("at", "data")

    def __init__(self, data: Bytes, at: Numbers) -> None:
        self.data = data
        self.at = at

    def number(self, bits: int = INT32_BITS) -> Numbers:
        """A varint of each record. As everywhere in Kafka, excess bits of the last byte are dropped. Raises WireError for more bytes than
        ``bits`` need.
        """
        byte = self.data[self.at]
        if byte.max(initial=0) < 128:
            self.at = self.at + 1
            return ((byte >> 1) ^ -(byte & 1)).view(np.int8).astype(np.int64)
        value = (byte & 127).astype(np.uint64)
        self.at = self.at + 1
        more: Any = byte >> 7
        for shift in range(7, 7 * _USUAL, 7):
            byte = self.data[self.at] * more
            value |= (byte & 127).astype(np.uint64) << np.uint64(shift)
            self.at += more
            if byte.max() < 128:
                break
            more = byte >> 7
        else:
            self._longer(value, np.flatnonzero(more), bits)
        if bits == INT32_BITS:
            value &= np.uint64(0xFFFF_FFFF)
        return (value >> np.uint64(1)).view(np.int64) ^ -(value & np.uint64(1)).view(np.int64)

    def _longer(self, value: Any, of: Any, bits: int) -> None:
        """Read the remaining bytes of the varints that have more."""
        for shift in range(7 * _USUAL, bits, 7):
            if not of.size:
                return
            byte = self.data[self.at[of]]
            value[of] |= (byte & 127).astype(np.uint64) << np.uint64(shift)
            self.at[of] += 1
            of = of[byte >= 128]
        if of.size:
            self._too_long(bits)

    def _too_long(self, bits: int) -> None:
        raise WireError(f"a varint is longer than {bits} bits")

    def stretch(self) -> tuple[Numbers, Numbers]:
        """Length-prefixed bytes: their position and their length, which is negative for null."""
        length = self.number()
        begin = self.at
        self.at = begin + np.maximum(length, 0)
        return begin, length
