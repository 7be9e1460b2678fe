"""The target assignment: computed by an assignor when the group epoch has risen, no more often than the interval allows."""

from __future__ import annotations

from collections.abc import Iterable

from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.member import ConsumerMember, Target
from pykbroker.coordination.groups.consumer.records import target_epoch_record, target_record
from pykbroker.coordination.groups.consumer.subscriptions import Subscriptions
from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.wire.errors import ErrorCode, KafkaError


def may_assign(group: ConsumerGroup, epoch: int, now_ms: int) -> bool:
    """Whether a target for this group epoch is needed, and the interval since the last one has passed (KIP-1263).

    Until then members are reconciled with the present target, and one of their later heartbeats computes the new one.
    """
    if epoch <= group.target_epoch:
        return False
    interval_ms = group.assignment_interval_ms
    return not interval_ms or not group.target_timestamp_ms or now_ms - group.target_timestamp_ms >= interval_ms


def assign(
    group: ConsumerGroup, epoch: int, before: ConsumerMember | None, after: ConsumerMember
) -> tuple[list[CoordinatorRecord], Target]:
    """The records of a new target for the group, one member changed from ``before`` to ``after``, and that member's."""
    from pykbroker.coordination.groups.assignors import ASSIGNORS
    from pykbroker.coordination.groups.assignors.spec import AssignmentFailed, GroupSpec, MemberSpec

    subscriptions = Subscriptions(group)
    members = {
        member.member_id: MemberSpec(
            subscriptions.of(member), group.target_of(member), member.instance_id, member.rack_id
        )
        for member in _after(group, after)
    }
    wanted = frozenset().union(*(member.subscribed for member in members.values()))
    image = group.around.image
    partitions = {topic_id: len(image.topics_by_id[topic_id].partitions) for topic_id in wanted}
    try:
        given = ASSIGNORS[group.assignor_after(before, after)](GroupSpec(members, partitions))
    except AssignmentFailed as error:
        message = f"Failed to compute a new target assignment for epoch {epoch}: {error}"
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, message) from error
    records: list[CoordinatorRecord] = []
    own: Target = {}
    for member_id in members:
        target = {topic: frozenset(indexes) for topic, indexes in given.get(member_id, {}).items() if indexes}
        if target != group.targets.get(member_id):
            records.append(target_record(group.group_id, member_id, target))
        if member_id == after.member_id:
            own = target
    records.append(target_epoch_record(group.group_id, epoch, group.around.clock.now_ms()))
    return records, own


def _after(group: ConsumerGroup, after: ConsumerMember) -> Iterable[ConsumerMember]:
    """The members after one has changed as given; if it is static, without the one that it replaces."""
    former = group.static_member(after.instance_id)
    gone = {after.member_id, after.member_id if former is None else former.member_id}
    yield from (member for member_id, member in group.members.items() if member_id not in gone)
    yield after
