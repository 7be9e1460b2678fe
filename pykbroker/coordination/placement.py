"""The partition of the coordinator's topic to which a group or a transactional id belongs."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4096)  # called for every request
def partition_for(key: str, partitions: int) -> int:
    """The absolute value (Utils.abs) of Java's String.hashCode of the id, modulo the number of partitions."""
    units = key.encode("utf-16-be", "surrogatepass")
    code = 0
    for i in range(0, len(units), 2):
        code = (31 * code + (units[i] << 8 | units[i + 1])) & 0xFFFFFFFF
    if code >= 0x80000000:
        code = 0x100000000 - code  # the absolute value; Utils.abs returns zero for the smallest int
        if code == 0x80000000:
            code = 0
    return code % partitions
