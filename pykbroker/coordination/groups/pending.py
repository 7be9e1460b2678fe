"""Offsets committed in open transactions: the transaction's marker applies or drops them.

While a partition has one, its committed offset is unstable, and readers that require a stable one are answered
UNSTABLE_OFFSET_COMMIT (KIP-447).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

from pykbroker.coordination.groups.offsets import CommittedOffset

GroupPartition = tuple[str, str, int]


class PendingOffsets:
    """By producer id: (group, topic, partition) to the last commit. Also indexed by group, so that operations on one group
    cost nothing for others.
    """

    __slots__ = ("_groups", "_producers", "_topics")

    def __init__(self) -> None:
        self._producers: dict[int, dict[GroupPartition, CommittedOffset]] = {}
        #: Group to topic and partition to the producers that committed there.
        self._groups: dict[str, dict[tuple[str, int], set[int]]] = {}
        #: Topic to the groups with pending offsets of it, and the number of partitions of each.
        self._topics: dict[str, Counter[str]] = {}

    def put(self, producer_id: int, where: GroupPartition, committed: CommittedOffset) -> None:
        """Add a commit of an open transaction."""
        self._producers.setdefault(producer_id, {})[where] = committed
        partitions = self._groups.setdefault(where[0], {})
        producers = partitions.get(where[1:])
        if producers is None:
            producers = partitions[where[1:]] = set()
            self._topics.setdefault(where[1], Counter())[where[0]] += 1
        producers.add(producer_id)

    def end(self, producer_id: int) -> dict[GroupPartition, CommittedOffset]:
        """Remove the producer's open transaction; returns its commits."""
        ended = self._producers.pop(producer_id, {})
        for where in ended:
            producers = self._groups[where[0]][where[1:]]
            producers.discard(producer_id)
            if not producers:
                self._forget(where)
        return ended

    def remove(self, where: GroupPartition) -> None:
        """Remove the commits of all transactions for a partition."""
        for producer_id in self._groups.get(where[0], {}).get(where[1:], ()):
            offsets = self._producers[producer_id]
            del offsets[where]
            if not offsets:
                del self._producers[producer_id]
        self._forget(where)

    def remove_group(self, group_id: str) -> None:
        """Remove the commits of all transactions for a group."""
        for topic, index in list(self._groups.get(group_id, ())):
            self.remove((group_id, topic, index))

    def _forget(self, where: GroupPartition) -> None:
        partitions = self._groups.get(where[0])
        if partitions is not None:
            if partitions.pop(where[1:], None) is not None:
                self._forget_topic_of(*where[:2])
            if not partitions:
                del self._groups[where[0]]

    def _forget_topic_of(self, group_id: str, topic: str) -> None:
        groups = self._topics[topic]
        groups[group_id] -= 1
        if not groups[group_id]:
            del groups[group_id]
            if not groups:
                del self._topics[topic]

    def groups(self) -> Iterator[str]:
        """The groups with pending offsets."""
        return iter(self._groups)

    def groups_of(self, topic: str) -> Iterable[str]:
        """The groups with pending offsets of a topic; valid until the next change."""
        return self._topics.get(topic, ())

    def of_group(self, group_id: str) -> AbstractSet[tuple[str, int]]:
        """Topic and partition of all pending offsets of a group; valid until the next change."""
        return self._groups.get(group_id, {}).keys()

    def at(self, where: GroupPartition) -> Iterator[CommittedOffset]:
        """The commits of open transactions for a partition."""
        for producer_id in self._groups.get(where[0], {}).get(where[1:], ()):
            yield self._producers[producer_id][where]
