"""The target assignment: computed by an assignor when the group epoch has risen, no more often than the interval allows.

That of a large group is computed in a thread, as Apache Kafka computes all (``group.consumer.assignor.offload.enable``): members get it
with later heartbeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.assigning import MANY, Assigning
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.member import ConsumerMember, Target
from pykbroker.coordination.groups.consumer.records import target_epoch_record, target_record
from pykbroker.coordination.groups.consumer.subscriptions import Subscriptions
from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.groups.assignors.spec import GroupSpec


def may_assign(group: ConsumerGroup, epoch: int, now_ms: int) -> bool:
    """Whether a target for this group epoch is needed, none is being computed, and the interval since the last one has passed
    (KIP-1263).

    Until then members are reconciled with the present target, and one of their later heartbeats computes the new one.
    """
    if epoch <= group.target_epoch or group.is_assigning:
        return False
    interval_ms = group.assignment_interval_ms
    return not interval_ms or not group.target_timestamp_ms or now_ms - group.target_timestamp_ms >= interval_ms


def assign(
    group: ConsumerGroup, epoch: int, before: ConsumerMember | None, after: ConsumerMember
) -> tuple[list[CoordinatorRecord], Target] | Assigning:
    """The records of a new target for the group, one member changed from ``before`` to ``after``, and that member's; or what is to be
    computed in a thread. Raises KafkaError UNKNOWN_SERVER_ERROR if there is no assignment.
    """
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
    compute = partial(computed, group.assignor_after(before, after), GroupSpec(members, partitions))
    if sum(len(member.subscribed) for member in members.values()) + sum(partitions.values()) > MANY:
        return Assigning(ConsumerGroup, group.group_id, epoch, compute, target_records)
    try:
        given = compute()
    except AssignmentFailed as error:
        message = f"Failed to compute a new target assignment for epoch {epoch}: {error}"
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, message) from error
    return target_records(group, epoch, given), given.get(after.member_id, {})


def computed(assignor: str, spec: GroupSpec) -> dict[str, Target]:
    """The target of each member. In any thread. Raises AssignmentFailed."""
    from pykbroker.coordination.groups.assignors import ASSIGNORS

    given = ASSIGNORS[assignor](spec)
    return {
        member_id: {topic: frozenset(some) for topic, some in given.get(member_id, {}).items() if some}
        for member_id in spec.members
    }


def target_records(group: ConsumerGroup, epoch: int, given: Mapping[str, Target]) -> list[CoordinatorRecord]:
    """The records of the targets that change, and of their epoch."""
    records = [
        target_record(group.group_id, member_id, target)
        for member_id, target in given.items()
        if target != group.targets.get(member_id)
    ]
    return [*records, target_epoch_record(group.group_id, epoch, group.around.clock.now_ms())]


def _after(group: ConsumerGroup, after: ConsumerMember) -> Iterable[ConsumerMember]:
    """The members after one has changed as given; if it is static, without the one that it replaces."""
    former = group.static_member(after.instance_id)
    gone = {after.member_id, after.member_id if former is None else former.member_id}
    yield from (member for member_id, member in group.members.items() if member_id not in gone)
    yield after
