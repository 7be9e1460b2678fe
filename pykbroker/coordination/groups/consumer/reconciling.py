"""Reconciles a member's current assignment with its target, one step at a time, revocations first (KIP-848).

    STABLE                 a newer target: see below
    UNREVOKED_PARTITIONS   waits until the member no longer reports the partitions to revoke; then a step to the newest target
    UNRELEASED_PARTITIONS  has the target's epoch, but other members still hold some of its partitions: tries again
    UNKNOWN                written by a later release: the member must rejoin without partitions

A step first revokes what is not in the target, without changing the epoch. With nothing to revoke the member moves to the
target's epoch and gets all of it that no other member holds. So no partition is ever assigned to two members. Source: Apache Kafka 4.4.0's CurrentAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from pykbroker.coordination.groups.consumer.member import ConsumerMember, MemberState, Owned, Target
from pykbroker.wire.errors import ErrorCode, KafkaError

#: Partitions that a member reports to own, by topic id.
Reported = Mapping[bytes, AbstractSet[int]]


@dataclass(slots=True)
class Goal:
    """The input of a member's reconciliation."""

    target_epoch: int
    target: Target
    #: Ids of the topics to which it is subscribed.
    subscribed: AbstractSet[bytes]
    #: Whether no member of the group holds a partition.
    is_free: Callable[[bytes, int], bool]
    #: The partitions that the member reports to own; None if it reports none.
    reported: Reported | None
    #: Whether its subscription changed with this request, so that topics may have to be revoked under the same target.
    subscription_changed: bool = False


def reconcile(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    """The member one step further; the same object if there is no step. Raises KafkaError FENCED_MEMBER_EPOCH."""
    if member.state is MemberState.STABLE:
        if member.epoch != goal.target_epoch:
            return _next(member, goal, member.epoch)
        return _drop_unsubscribed(member, goal) if goal.subscription_changed else member
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        if _still_owns(member.revoking, goal):
            return _drop_unsubscribed(member, goal) if goal.subscription_changed else member
        return _next(member, goal, member.epoch)
    if member.state is MemberState.UNRELEASED_PARTITIONS:
        return _next(member, goal, member.epoch)
    if goal.reported is None or any(goal.reported.values()):
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.",
        )
    return _next(member, goal, goal.target_epoch)


def _next(member: ConsumerMember, goal: Goal, epoch: int) -> ConsumerMember:
    kept: Owned = {}
    revoking: Owned = {}
    free: dict[bytes, list[int]] = {}
    unreleased = False
    for topic_id in goal.target.keys() | member.assigned.keys():
        target = goal.target.get(topic_id, frozenset()) if topic_id in goal.subscribed else frozenset()
        assigned = member.assigned.get(topic_id, {})
        keep = {partition: since for partition, since in assigned.items() if partition in target}
        if keep:
            kept[topic_id] = keep
        if len(keep) < len(assigned):
            revoking[topic_id] = {p: since for p, since in assigned.items() if p not in keep}
        mine = member.revoking.get(topic_id, {})
        for partition in target - keep.keys():
            if partition in mine or goal.is_free(topic_id, partition):
                free.setdefault(topic_id, []).append(partition)
            else:
                unreleased = True
    if revoking and _still_owns(revoking, goal):
        return _moved(member, MemberState.UNREVOKED_PARTITIONS, epoch, kept, revoking)
    for topic_id, partitions in free.items():
        kept.setdefault(topic_id, {}).update(dict.fromkeys(partitions, goal.target_epoch))
    state = MemberState.UNRELEASED_PARTITIONS if unreleased else MemberState.STABLE
    return _moved(member, state, goal.target_epoch, kept, {})


def _drop_unsubscribed(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    """Revoke topics to which the member is no longer subscribed, whatever the target is."""
    gone = {topic_id: owned for topic_id, owned in member.assigned.items() if topic_id not in goal.subscribed}
    if not gone:
        return member
    kept = {topic_id: owned for topic_id, owned in member.assigned.items() if topic_id not in gone}
    revoking = dict(member.revoking)
    for topic_id, owned in gone.items():
        revoking[topic_id] = revoking.get(topic_id, {}) | owned
    if _still_owns(revoking, goal):
        return _moved(member, MemberState.UNREVOKED_PARTITIONS, member.epoch, kept, revoking)
    return _moved(member, member.state, member.epoch, kept, member.revoking)


def _still_owns(revoking: Owned, goal: Goal) -> bool:
    """Whether the member may still use any of these: it reports one of them, or does not report at all."""
    reported = goal.reported
    if reported is None:
        return True
    return any(topic_id in reported and owned.keys() & reported[topic_id] for topic_id, owned in revoking.items())


def _moved(member: ConsumerMember, state: MemberState, epoch: int, assigned: Owned, revoking: Owned) -> ConsumerMember:
    """The member after a step; the previous epoch stays valid for a repeated request whose answer was lost."""
    return replace(member, state=state, epoch=epoch, previous_epoch=member.epoch, assigned=assigned, revoking=revoking)
