"""The uniform assignor: members get equal numbers of partitions, over all topics, and keep as many as possible.

This module handles groups whose members all subscribe to the same topics, ``mixed`` the others. Each member has a quota of
all partitions; what it holds beyond that goes to members below theirs.
"""

from __future__ import annotations

from itertools import islice

from pykbroker.coordination.groups.assignors.mixed import assign_mixed
from pykbroker.coordination.groups.assignors.spec import (
    Assignment,
    GroupSpec,
    MemberSpec,
    Uuid,
    settled,
    uuid_order,
)


def assign_uniform(spec: GroupSpec) -> dict[str, Assignment]:
    """Spread the partitions of a group. Raises AssignmentFailed for a subscribed topic that does not exist."""
    if not spec.same_topics():
        return assign_mixed(spec)
    if not any(member.subscribed for member in spec.members.values()):
        return {member_id: {} for member_id in spec.members}
    return _assign_same(spec)


def _assign_same(spec: GroupSpec) -> dict[str, Assignment]:
    topics = sorted(next(iter(spec.members.values())).subscribed, key=uuid_order)
    free = _unassigned(spec, topics)
    quota, extras = divmod(sum(map(spec.partition_count, topics)), len(spec.members))
    kept: dict[str, dict[Uuid, set[int]]] = {}
    short: list[tuple[str, int]] = []  # members and the number of partitions that they lack
    members_left = len(spec.members)
    for member_id, member in spec.members.items():
        # While there are extras, a member may have one partition more than the quota.
        kept[member_id], lacking = _keep(member, quota + (extras > 0), free)
        if extras > 0:
            # A member that does not hold an extra partition leaves it to a later one that does, while enough are left.
            if lacking and members_left > extras:
                lacking -= 1
            else:
                extras -= 1
        if lacking:
            short.append((member_id, lacking))
        members_left -= 1

    unowned = iter(free)
    for member_id, lacking in short:
        for topic, partition in islice(unowned, lacking):
            kept[member_id].setdefault(topic, set()).add(partition)
    return {member_id: settled(owned) for member_id, owned in kept.items()}


def _unassigned(spec: GroupSpec, topics: list[Uuid]) -> list[tuple[Uuid, int]]:
    """The partitions that no member has."""
    owned: dict[Uuid, set[int]] = {topic: set() for topic in topics}
    for member in spec.members.values():
        for topic, partitions in member.assigned.items():
            if topic in owned:
                owned[topic] |= partitions
    return [
        (topic, each) for topic in topics for each in range(spec.partition_count(topic)) if each not in owned[topic]
    ]


def _keep(member: MemberSpec, quota: int, free: list[tuple[Uuid, int]]) -> tuple[dict[Uuid, set[int]], int]:
    """The partitions that a member keeps, at most ``quota``, and the rest of the quota. What it loses is added to ``free``."""
    kept = {}
    for topic in sorted(member.assigned, key=uuid_order):
        if topic in member.subscribed:
            held = sorted(member.assigned[topic])
            kept[topic] = set(held[:quota])
            free += [(topic, each) for each in held[quota:]]
            quota = max(0, quota - len(held))
    return kept, quota
