"""Chooses the partition of a record: by its key as Java's clients do, without a key in turn."""

from __future__ import annotations

from itertools import cycle

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the 32-bit hash of a key, unsigned (org.apache.kafka.common.utils.Utils.murmur2)."""
    size = len(data)
    h = _SEED ^ size
    whole = size & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = h * _M & _MASK ^ k
    if whole < size:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


class Partitioner:
    """Chooses among ``count`` partitions."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._in_turn = cycle(range(count))
        self._now = next(self._in_turn)

    def choose(self, key: bytes | None) -> int:
        """Return the partition for a record with this key."""
        return self._now if key is None else (murmur2(key) & 0x7FFFFFFF) % self._count

    def next_batch(self) -> None:
        """Send records without a key to the next partition from now on."""
        self._now = next(self._in_turn)
