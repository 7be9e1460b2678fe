"""The target assignment of a share group, computed when the group epoch has risen, no more often than the interval allows; that of a large
group in a thread.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.assigning import Assigning, assigned, target_records
from pykbroker.coordination.groups.share.group import Partitions, ShareGroup, ShareMember
from pykbroker.coordination.groups.share.records import target_epoch_record, target_record
from pykbroker.coordination.outcome import CoordinatorRecord

if TYPE_CHECKING:
    from pykbroker.coordination.groups.assignors.spec import GroupSpec


def assign(
    group: ShareGroup, epoch: int, after: ShareMember
) -> tuple[list[CoordinatorRecord], dict[str, Partitions]] | Assigning:
    """``assigned`` of the group, one member changed to ``after``."""
    from pykbroker.coordination.groups.assignors.spec import GroupSpec, MemberSpec

    members = {
        member.member_id: MemberSpec(group.around.topic_ids(member.subscribed), group.targets.get(member.member_id, {}))
        for member in (*(each for each in group.members.values() if each.member_id != after.member_id), after)
    }
    wanted = frozenset().union(*(member.subscribed for member in members.values()))
    image = group.around.image
    partitions = {topic_id: len(image.topics_by_id[topic_id].partitions) for topic_id in wanted}
    ready = {topic_id: topic.partitions for topic_id, topic in group.initialized.items()}
    compute = partial(_computed, GroupSpec(members, partitions), ready)
    size = sum(len(member.subscribed) for member in members.values()) + sum(partitions.values())
    return assigned(group, epoch, size, compute, _records)


_records = partial(target_records, target_record, target_epoch_record)


def _computed(spec: GroupSpec, ready: dict[bytes, frozenset[int]]) -> dict[str, Partitions]:
    """The target of each member. In any thread. Raises AssignmentFailed."""
    from pykbroker.coordination.groups.assignors.simple import assign_simple

    given = assign_simple(spec, ready)
    return {
        member_id: {topic: frozenset(indexes) for topic, indexes in given.get(member_id, {}).items()}
        for member_id in spec.members
    }


def filtered(group: ShareGroup, target: Partitions, subscribed: frozenset[str]) -> Partitions:
    """The part of a target to whose topics a member is subscribed."""
    names = group.around.topic_name
    return {topic_id: some for topic_id, some in target.items() if names(topic_id) in subscribed}
