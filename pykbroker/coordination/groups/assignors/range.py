"""The range assignor: of every topic each subscriber gets one run of neighbouring partitions.

Members take their runs in the same order for every topic, static ones first, by instance id, then the others by member
id. So topics with equal numbers of partitions and the same subscribers are divided alike, which joins need. The assignor is not
sticky; partitions stay in place because the order of members does not change.
"""

from __future__ import annotations

from collections import Counter

from pykbroker.coordination.groups.assignors.spec import Assignment, AssignmentFailed, GroupSpec, Uuid


def assign_range(spec: GroupSpec) -> dict[str, Assignment]:
    """Divide the topics of a group. Raises AssignmentFailed for a subscribed topic that does not exist."""
    subscribers: Counter[Uuid] = Counter()
    for member in spec.members.values():
        subscribers.update(member.subscribed)
    if any(topic not in spec.partitions for topic in subscribers):
        raise AssignmentFailed("Member is subscribed to a non-existent topic")

    runs = {topic: divmod(spec.partitions[topic], count) for topic, count in subscribers.items()}
    taken = dict.fromkeys(subscribers, 0)  # members that have had their turn
    assignments: dict[str, Assignment] = {}
    for member_id in sorted(spec.members, key=lambda each: _turn(each, spec)):
        assignments[member_id] = owned = {}
        for topic in spec.members[member_id].subscribed:
            length, longer = runs[topic]  # the first `longer` runs have one partition more
            turn = taken[topic]
            taken[topic] = turn + 1
            start = turn * length + min(turn, longer)
            run = range(start, start + length + (turn < longer))
            if run:
                owned[topic] = tuple(run)
    return assignments


def _turn(member_id: str, spec: GroupSpec) -> tuple[bool, bytes]:
    """The sort key of a member; texts compare by UTF-16 units, as Java's do."""
    instance_id = spec.members[member_id].instance_id
    text = member_id if instance_id is None else instance_id
    return instance_id is None, text.encode("utf-16-be", "surrogatepass")
