"""Offsets committed in transactions that are still open: they count, or go, when the transaction's marker comes.

While a partition has one, nobody can say what its committed offset will be; readers that ask for a stable answer are
told UNSTABLE_OFFSET_COMMIT (KIP-447).
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from pykbroker.coordination.groups.offsets import CommittedOffset

GroupPartition = tuple[str, str, int]


class PendingOffsets:
    """By producer id: (group, topic, partition) to what was committed last; and by group, so that what concerns one group
    costs nothing for the others.
    """

    __slots__ = ("_groups", "_producers")

    def __init__(self) -> None:
        self._producers: dict[int, dict[GroupPartition, CommittedOffset]] = {}
        #: Group to topic and partition to the producers that committed there.
        self._groups: dict[str, dict[tuple[str, int], set[int]]] = {}

    def put(self, producer_id: int, where: GroupPartition, committed: CommittedOffset) -> None:
        """Take a commit of an open transaction."""
        self._producers.setdefault(producer_id, {})[where] = committed
        self._groups.setdefault(where[0], {}).setdefault(where[1:], set()).add(producer_id)

    def end(self, producer_id: int) -> dict[GroupPartition, CommittedOffset]:
        """Forget the producer's open transaction; what was committed in it."""
        ended = self._producers.pop(producer_id, {})
        for where in ended:
            producers = self._groups[where[0]][where[1:]]
            producers.discard(producer_id)
            if not producers:
                self._forget(where)
        return ended

    def remove(self, where: GroupPartition) -> None:
        """Forget what any transaction committed for a partition."""
        for producer_id in self._groups.get(where[0], {}).get(where[1:], ()):
            offsets = self._producers[producer_id]
            del offsets[where]
            if not offsets:
                del self._producers[producer_id]
        self._forget(where)

    def _forget(self, where: GroupPartition) -> None:
        partitions = self._groups.get(where[0])
        if partitions is not None:
            partitions.pop(where[1:], None)
            if not partitions:
                del self._groups[where[0]]

    def groups(self) -> Iterator[str]:
        """The groups for which anything is pending."""
        return iter(self._groups)

    def of_group(self, group_id: str) -> AbstractSet[tuple[str, int]]:
        """Topic and partition of everything that is pending for a group; to be read before anything changes."""
        return self._groups.get(group_id, {}).keys()

    def at(self, where: GroupPartition) -> Iterator[CommittedOffset]:
        """What open transactions committed for a partition."""
        for producer_id in self._groups.get(where[0], {}).get(where[1:], ()):
            yield self._producers[producer_id][where]
