"""The target assignment of a share group, computed when the group epoch has risen, no more often than the interval allows; that of a large
group in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.assigning import MANY, Assigning
from pykbroker.coordination.groups.share.group import Partitions, ShareGroup, ShareMember
from pykbroker.coordination.groups.share.records import target_epoch_record, target_record
from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.groups.assignors.spec import GroupSpec


def may_assign(group: ShareGroup, epoch: int) -> bool:
    """Whether a target for this group epoch is needed, none is being computed, and the interval since the last one has passed
    (KIP-1263).
    """
    if epoch <= group.target_epoch or group.is_assigning:
        return False
    interval_ms = group.assignment_interval_ms
    since_ms = group.around.clock.now_ms() - group.target_timestamp_ms
    return not interval_ms or not group.target_timestamp_ms or since_ms >= interval_ms


def assign(group: ShareGroup, epoch: int, after: ShareMember) -> tuple[list[CoordinatorRecord], Partitions] | Assigning:
    """The records of a new target for the group, one member changed to ``after``, and that member's; or what is to be computed in a
    thread. Raises KafkaError UNKNOWN_SERVER_ERROR if none can be computed.
    """
    from pykbroker.coordination.groups.assignors.spec import AssignmentFailed, GroupSpec, MemberSpec

    members = {
        member.member_id: MemberSpec(_ids(group, member.subscribed), group.targets.get(member.member_id, {}))
        for member in (*(each for each in group.members.values() if each.member_id != after.member_id), after)
    }
    wanted = frozenset().union(*(member.subscribed for member in members.values()))
    image = group.around.image
    partitions = {topic_id: len(image.topics_by_id[topic_id].partitions) for topic_id in wanted}
    ready = {topic_id: topic.partitions for topic_id, topic in group.initialized.items()}
    compute = partial(_computed, GroupSpec(members, partitions), ready)
    if sum(len(member.subscribed) for member in members.values()) + sum(partitions.values()) > MANY:
        return Assigning(ShareGroup, group.group_id, epoch, compute, _records)
    try:
        given = compute()
    except AssignmentFailed as error:
        message = f"Failed to compute a new target assignment for epoch {epoch}: {error}"
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, message) from error
    return _records(group, epoch, given), given[after.member_id]


def _computed(spec: GroupSpec, ready: dict[bytes, frozenset[int]]) -> dict[str, Partitions]:
    """The target of each member. In any thread. Raises AssignmentFailed."""
    from pykbroker.coordination.groups.assignors.simple import assign_simple

    given = assign_simple(spec, ready)
    return {
        member_id: {topic: frozenset(indexes) for topic, indexes in given.get(member_id, {}).items()}
        for member_id in spec.members
    }


def _records(group: ShareGroup, epoch: int, given: Mapping[str, Partitions]) -> list[CoordinatorRecord]:
    """The records of the targets that change, and of their epoch."""
    records = [
        target_record(group.group_id, member_id, target)
        for member_id, target in given.items()
        if target != group.targets.get(member_id)
    ]
    return [*records, target_epoch_record(group.group_id, epoch, group.around.clock.now_ms())]


def filtered(group: ShareGroup, target: Partitions, subscribed: frozenset[str]) -> Partitions:
    """The part of a target to whose topics a member is subscribed."""
    names = group.around.topic_name
    return {topic_id: some for topic_id, some in target.items() if names(topic_id) in subscribed}


def _ids(group: ShareGroup, names: frozenset[str]) -> frozenset[bytes]:
    topics = group.around.image.topics
    return frozenset([topics[name].id for name in names if name in topics])
