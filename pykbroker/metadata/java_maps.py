"""The iteration order of Java's HashMap. Apache Kafka answers lists in it (settings, quotas); equal keys give an equal order, and
clients' tests compare such lists literally.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")

_32_BITS = 0xFFFF_FFFF


@lru_cache(maxsize=4096)
def hash_of_text(text: str) -> int:
    """``String.hashCode``, as an unsigned number."""
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    found = 0
    for unit in units:
        found = (31 * found + unit) & _32_BITS
    return found


def hash_of_map(pairs: Mapping[str, str | None]) -> int:
    """``Map.hashCode``, as an unsigned number."""
    hashes = (hash_of_text(key) ^ (0 if value is None else hash_of_text(value)) for key, value in pairs.items())
    return sum(hashes) & _32_BITS


def table_size(count: int) -> int:
    """The number of buckets of a map that was filled key by key: a power of two, at most three quarters full."""
    size = 2
    while count > size * 3 // 4:
        size *= 2
    return size


def in_map_order(
    keys: Iterable[T], hash_of: Callable[[T], int], *, count: int | None = None, at_least: int = 2
) -> list[T]:
    """The keys in the iteration order of a map into which they were put in this order. ``count`` is the size of the map, if
    it has other keys too; ``at_least`` is its initial number of buckets.
    """
    given = list(keys)
    last = max(at_least, table_size(len(given) if count is None else count)) - 1

    def place(key: T) -> int:
        found = hash_of(key)
        return (found ^ found >> 16) & last

    return sorted(given, key=place)
