"""The target assignment: computed by an assignor when the group epoch has risen, no more often than the interval allows.

That of a large group is computed in a thread, as Apache Kafka computes all (``group.consumer.assignor.offload.enable``): members get it
with later heartbeats.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.assigning import Assigning, assigned, target_records
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.member import ConsumerMember, Target
from pykbroker.coordination.groups.consumer.records import target_epoch_record, target_record
from pykbroker.coordination.groups.consumer.subscriptions import Subscriptions
from pykbroker.coordination.outcome import CoordinatorRecord

if TYPE_CHECKING:
    from pykbroker.coordination.groups.assignors.spec import GroupSpec


def assign(
    group: ConsumerGroup, epoch: int, before: ConsumerMember | None, after: ConsumerMember
) -> tuple[list[CoordinatorRecord], dict[str, Target]] | Assigning:
    """``assigned`` of the group, one member changed from ``before`` to ``after``."""
    from pykbroker.coordination.groups.assignors.spec import GroupSpec, MemberSpec

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
    compute = partial(_computed, group.assignor_after(before, after), GroupSpec(members, partitions))
    size = sum(len(member.subscribed) for member in members.values()) + sum(partitions.values())
    return assigned(group, epoch, size, compute, _records)


_records = partial(target_records, target_record, target_epoch_record)


def _computed(assignor: str, spec: GroupSpec) -> dict[str, Target]:
    """The target of each member. In any thread. Raises AssignmentFailed."""
    from pykbroker.coordination.groups.assignors import ASSIGNORS

    given = ASSIGNORS[assignor](spec)
    return {
        member_id: {topic: frozenset(some) for topic, some in given.get(member_id, {}).items() if some}
        for member_id in spec.members
    }


def _after(group: ConsumerGroup, after: ConsumerMember) -> Iterable[ConsumerMember]:
    """The members after one has changed as given; if it is static, without the one that it replaces."""
    former = group.static_member(after.instance_id)
    gone = {after.member_id, after.member_id if former is None else former.member_id}
    yield from (member for member_id, member in group.members.items() if member_id not in gone)
    yield after
