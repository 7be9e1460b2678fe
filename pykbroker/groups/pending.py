"""Offsets committed in transactions that are still open: they count, or go, when the transaction's marker comes.

While a partition has one, nobody can say what its committed offset will be; readers that ask for a stable answer are
told UNSTABLE_OFFSET_COMMIT (KIP-447).
"""

from __future__ import annotations

from collections.abc import Iterator

from pykbroker.groups.offsets import CommittedOffset

GroupPartition = tuple[str, str, int]


class PendingOffsets:
    """By producer id: (group, topic, partition) to what was committed last."""

    __slots__ = ("_producers",)

    def __init__(self) -> None:
        self._producers: dict[int, dict[GroupPartition, CommittedOffset]] = {}

    def put(self, producer_id: int, where: GroupPartition, committed: CommittedOffset) -> None:
        self._producers.setdefault(producer_id, {})[where] = committed

    def end(self, producer_id: int) -> dict[GroupPartition, CommittedOffset]:
        """Forget the producer's open transaction; what was committed in it."""
        return self._producers.pop(producer_id, {})

    def remove(self, where: GroupPartition) -> None:
        """Forget what any transaction committed for a partition."""
        for producer_id, offsets in list(self._producers.items()):
            if offsets.pop(where, None) is not None and not offsets:
                del self._producers[producer_id]

    def has(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether a transaction that is still open committed an offset for the partition."""
        where = (group_id, topic, partition)
        return any(where in offsets for offsets in self._producers.values())

    def of_group(self, group_id: str) -> Iterator[tuple[str, int]]:
        """Topic and partition of everything that is pending for a group; one that is twice comes once."""
        return iter(
            {where[1:]: None for offsets in self._producers.values() for where in offsets if where[0] == group_id}
        )
