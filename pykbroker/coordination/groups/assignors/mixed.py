"""The uniform assignor for groups whose members read different topics.

Three steps, all by topic, those with the most partitions per subscriber first. Members keep what they still read. What
nobody has goes to the least loaded subscriber. Then, as long as it helps and for at most ``ROUNDS`` rounds, partitions
move from a topic's most loaded subscriber to its least loaded one.
"""

from __future__ import annotations

from collections.abc import Iterable

from pykbroker.coordination.groups.assignors.balance import Balance
from pykbroker.coordination.groups.assignors.spec import Assignment, GroupSpec, Uuid, settled, uuid_order

#: Where subscriptions overlap, a round about halves the imbalance, so this is near enough (Kafka's limit).
ROUNDS = 16
NOBODY = -1


def assign_mixed(spec: GroupSpec) -> dict[str, Assignment]:
    """Spread the partitions of a group. Raises AssignmentFailed for a subscribed topic that does not exist."""
    return _Mixed(spec).assignments()


class _Mixed:
    """The work on one group. Members are numbers here: their place in ``GroupSpec.members``."""

    def __init__(self, spec: GroupSpec) -> None:
        self.members = spec.members
        self.subscribers: dict[Uuid, list[int]] = {}
        for number, member in enumerate(spec.members.values()):
            for topic in member.subscribed:
                self.subscribers.setdefault(topic, []).append(number)
        self.owners = {topic: [NOBODY] * spec.partition_count(topic) for topic in self.subscribers}
        self.loads = [0] * len(spec.members)

    def assignments(self) -> dict[str, Assignment]:
        self._keep()
        self._assign_unowned()
        self._even_out()
        owned: list[dict[Uuid, list[int]]] = [{} for _ in self.members]
        for topic, owners in self.owners.items():
            for partition, owner in enumerate(owners):
                owned[owner].setdefault(topic, []).append(partition)
        return {member_id: settled(each) for member_id, each in zip(self.members, owned, strict=True)}

    def _keep(self) -> None:
        for number, member in enumerate(self.members.values()):
            for topic in member.assigned.keys() & member.subscribed:
                owners = self.owners[topic]
                for partition in member.assigned[topic]:
                    owners[partition] = number
                self.loads[number] += len(member.assigned[topic])

    def _assign_unowned(self) -> None:
        for topic in self._in_turn(self.owners):
            owners = self.owners[topic]
            balance = Balance(self.subscribers[topic], self.loads)
            for partition, owner in enumerate(owners):
                if owner == NOBODY:
                    owners[partition] = taker = balance.next_taker()
                    self.loads[taker] += 1

    def _even_out(self) -> None:
        topics = self._in_turn(topic for topic, subscribers in self.subscribers.items() if len(subscribers) > 1)
        last_moved = 0
        for turn in range(ROUNDS * len(topics)):
            index = turn % len(topics)
            if turn and index == last_moved:
                return  # once around since anything moved
            if self._even_out_topic(topics[index]):
                last_moved = index

    def _even_out_topic(self, topic: Uuid) -> bool:
        """Move partitions of one topic until its subscribers are even; whether any moved."""
        balance = Balance(self.subscribers[topic], self.loads)
        if balance.is_even():
            return False
        owners = self.owners[topic]
        to_give: dict[int, list[int]] = {}  # what each owned before anything moved: nothing moves twice
        for partition, owner in enumerate(owners):
            to_give.setdefault(owner, []).append(partition)
        moved = False
        while (giver := balance.next_giver(to_give)) is not None:
            partition = to_give[giver].pop()
            taker = balance.next_taker()
            if balance.is_level():
                break
            owners[partition] = taker
            self.loads[giver] -= 1
            self.loads[taker] += 1
            moved = True
        return moved

    def _in_turn(self, topics: Iterable[Uuid]) -> list[Uuid]:
        """Most partitions per subscriber first, then fewest subscribers, then by id."""

        def turn(topic: Uuid) -> tuple[float, int, tuple[int, int]]:
            subscribers = len(self.subscribers[topic])
            return -(len(self.owners[topic]) / subscribers), subscribers, uuid_order(topic)

        return sorted(topics, key=turn)
