"""The order in which Java's HashMap gives its keys. Apache Kafka answers lists in it (settings, quotas): it is the same whenever
the keys are, and clients' own tests compare such lists as they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")

_32_BITS = 0xFFFF_FFFF


@lru_cache(maxsize=4096)
def hash_of_text(text: str) -> int:
    """``String.hashCode``, without a sign."""
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    found = 0
    for unit in units:
        found = (31 * found + unit) & _32_BITS
    return found


def hash_of_map(pairs: Mapping[str, str | None]) -> int:
    """``Map.hashCode``, without a sign."""
    hashes = (hash_of_text(key) ^ (0 if value is None else hash_of_text(value)) for key, value in pairs.items())
    return sum(hashes) & _32_BITS


def table_size(count: int) -> int:
    """Places in a map that was filled key by key: a power of two, of which three quarters may be taken."""
    size = 2
    while count > size * 3 // 4:
        size *= 2
    return size


def in_map_order(
    keys: Iterable[T], hash_of: Callable[[T], int], *, count: int | None = None, at_least: int = 2
) -> list[T]:
    """As a map gives them into which they were put in this order. ``count`` is how many it holds, where those are not all;
    ``at_least`` the places that it began with.
    """
    given = list(keys)
    last = max(at_least, table_size(len(given) if count is None else count)) - 1

    def place(key: T) -> int:
        found = hash_of(key)
        return (found ^ found >> 16) & last

    return sorted(given, key=place)
