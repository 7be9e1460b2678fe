"""The assignor of share groups (KIP-932), where several members may have a partition.

Each partition goes to the same number of members, rounded up, and each member gets its even part of these assignments; what
members have is kept as far as that allows. If members read different topics, this is done for each topic alone. Like Apache
Kafka 4.4.0's SimpleAssignor but for the order of Java's hash tables: partitions go in ascending order, and members in the order of
``GroupSpec.members``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import ceil

from pykbroker.coordination.groups.assignors.spec import Assignment, GroupSpec, Uuid, uuid_order

_Partition = tuple[Uuid, int]


def assign_simple(spec: GroupSpec, assignable: Mapping[Uuid, AbstractSet[int]]) -> dict[str, Assignment]:
    """The partitions, ascending, of every member of the spec; ``assignable`` are those whose state is initialized.

    Raises AssignmentFailed if a subscribed topic does not exist.
    """
    topics = sorted({topic for member in spec.members.values() for topic in member.subscribed}, key=uuid_order)
    partitions = {topic: _assignable(spec, topic, assignable) for topic in topics}
    if spec.same_topics():
        rounds = [(list(spec.members), [each for topic in topics for each in partitions[topic]])]
    else:
        rounds = [
            ([name for name, member in spec.members.items() if topic in member.subscribed], partitions[topic])
            for topic in topics
        ]
    given: dict[str, set[_Partition]] = {name: set() for name in spec.members}
    for members, some in rounds:
        for name, own in _assign(spec, members, some).items():
            given[name] |= own
    return {name: _by_topic(own) for name, own in given.items()}


def _assignable(spec: GroupSpec, topic: Uuid, assignable: Mapping[Uuid, AbstractSet[int]]) -> list[_Partition]:
    ready = assignable.get(topic, frozenset())
    return [(topic, index) for index in range(spec.partition_count(topic)) if index in ready]


def _assign(spec: GroupSpec, members: Sequence[str], partitions: Sequence[_Partition]) -> dict[str, set[_Partition]]:
    """Share partitions evenly among members, who all read them."""
    if not members or not partitions:
        return {}
    sharing = ceil(len(members) / len(partitions))
    exact = sharing * len(partitions) / len(members)
    wanted = {name: ceil(exact * (n + 1)) - ceil(exact * n) for n, name in enumerate(members)}
    holders: dict[_Partition, int] = dict.fromkeys(partitions, 0)
    places = {where: place for place, where in enumerate(partitions)}
    own: dict[str, set[_Partition]] = {}
    for name in members:
        kept = own[name] = set()
        had = ((topic, index) for topic, indexes in spec.members[name].assigned.items() for index in indexes)
        for where in sorted(filter(places.__contains__, had), key=places.__getitem__):
            if len(kept) == wanted[name]:
                break
            if holders[where] < sharing:
                kept.add(where)
                holders[where] += 1
    unfilled = [name for name in members if len(own[name]) < wanted[name]]
    for where in partitions:
        _fill(where, sharing - holders[where], own, wanted, unfilled)
    return own


def _fill(
    where: _Partition, missing: int, own: dict[str, set[_Partition]], wanted: dict[str, int], unfilled: list[str]
) -> None:
    """Give a partition to as many members as it misses, of those who have too few; they take turns."""
    for _ in range(len(unfilled)):
        if missing <= 0:
            return
        name = unfilled.pop(0)
        if where not in own[name]:
            own[name].add(where)
            missing -= 1
        if len(own[name]) < wanted[name]:
            unfilled.append(name)


def _by_topic(own: AbstractSet[_Partition]) -> Assignment:
    topics: dict[Uuid, list[int]] = {}
    for topic, index in sorted(own, key=lambda where: (uuid_order(where[0]), where[1])):
        topics.setdefault(topic, []).append(index)
    return {topic: tuple(indexes) for topic, indexes in topics.items()}
