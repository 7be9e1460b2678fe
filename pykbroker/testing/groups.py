"""The coordinators' state as plain objects: groups, their members and offsets, and transactions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from pykbroker.coordination.groups.classic.group import ClassicGroup
from pykbroker.coordination.groups.consumer.describing import described
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.shard import GroupShard
from pykbroker.coordination.groups.share import describing
from pykbroker.coordination.groups.share.group import ShareGroup
from pykbroker.runtime.waits import Deferred, as_wait, attempt
from pykbroker.wire.errors import KafkaError, WireError
from pykbroker.wire.internal.consumer_protocol_assignment import ConsumerProtocolAssignment
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.brokers.cluster import Cluster

T = TypeVar("T")

#: Topic to partitions, in their order.
Partitions = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group, and the partitions it has."""

    member_id: str
    client_id: str
    instance_id: str | None
    assignment: Partitions


@dataclass(frozen=True, slots=True)
class Group:
    """A group. ``state`` is Kafka's name: ``Stable``, ``Empty``, ``PreparingRebalance``, ``Reconciling`` ...; ``Dead`` if the group
    does not exist. ``type`` is ``classic``, ``consumer``, ``share`` or ``streams``.
    """

    group_id: str
    type: str
    state: str
    members: tuple[Member, ...] = ()

    @property
    def assigned(self) -> Partitions:
        """The partitions assigned to any member."""
        found: dict[str, set[int]] = {}
        for member in self.members:
            for topic, indexes in member.assignment.items():
                found.setdefault(topic, set()).update(indexes)
        return {topic: tuple(sorted(indexes)) for topic, indexes in found.items()}

    def __str__(self) -> str:
        have = "; ".join(f"{member.client_id} has {_listed(member.assignment)}" for member in self.members)
        return f"group {self.group_id} is {self.state} with {len(self.members)} members" + (
            f" ({have})" if have else ""
        )


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transactional id. ``state`` is Kafka's name: ``Ongoing``, ``PrepareCommit``, ``CompleteCommit``, ``CompleteAbort`` ...;
    ``Dead`` if it does not exist.
    """

    transactional_id: str
    state: str
    producer_id: int = -1
    producer_epoch: int = -1
    partitions: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        return f"transaction {self.transactional_id} is {self.state} (producer {self.producer_id}, epoch {self.producer_epoch})"


def group(cluster: Cluster, group_id: str) -> Group:
    """A group by its id."""
    nobody = Group(group_id, "classic", "Dead")
    told = partial(_group, group_id)
    return of_coordinator(cluster, lambda broker: broker.groups.ask(group_id, told)) or nobody


def _group(group_id: str, shard: GroupShard) -> Group:
    found = shard.groups.get(group_id)
    if isinstance(found, ClassicGroup):
        return Group(group_id, "classic", found.state.value, tuple(_classic_members(found)))
    if isinstance(found, ConsumerGroup):
        members = [
            Member(
                member.member_id,
                member.client_id,
                member.instance_id,
                {each.topic_name: tuple(each.partitions) for each in member.assignment.topic_partitions},
            )
            for member in described(found).members
        ]
        return Group(group_id, "consumer", found.state.value, tuple(members))
    if isinstance(found, ShareGroup):
        members = [
            Member(
                each.member_id,
                each.client_id,
                None,
                {of.topic_name: tuple(of.partitions) for of in each.assignment.topic_partitions},
            )
            for each in describing.described(found).members
        ]
        return Group(group_id, found.type_name, found.state.value, tuple(members))
    if found is not None:
        return Group(group_id, found.type_name, found.state.value)
    return Group(group_id, "classic", "Dead")


def group_ids(cluster: Cluster) -> list[str]:
    """The ids of all groups whose coordinators are loaded, in order."""
    found: set[str] = set()
    for broker in cluster.brokers.values():
        with contextlib.suppress(KafkaError):
            listed = as_wait(cluster.runtime.slices.run(broker.groups.describe_all(lambda group: group.group_id, 0.3)))
            found.update(listed.value if listed.done else ())
    return sorted(found)


def committed(cluster: Cluster, group_id: str) -> dict[tuple[str, int], int]:
    """The committed offsets of a group, by topic and partition."""
    asked = OffsetFetchRequestGroup(group_id=group_id, topics=None)
    found = of_coordinator(cluster, lambda broker: broker.groups.ask(group_id, GroupShard.fetch, asked))
    return {
        (topic.name, each.partition_index): each.committed_offset
        for topic in (found.topics if found is not None else ())
        for each in topic.partitions
        if each.committed_offset >= 0
    }


def lags(cluster: Cluster, group_id: str, topic: str | None = None) -> dict[tuple[str, int], int]:
    """The lag of a group, in offsets below the high watermark, in each partition of a topic, or of all topics with committed
    offsets. Without a committed offset it counts from the log start offset.
    """
    offsets = committed(cluster, group_id)
    topics = {name for name, _ in offsets} if topic is None else {topic}
    return {
        (each.topic, each.index): each.high_watermark - offsets.get((each.topic, each.index), each.log_start_offset)
        for each in cluster.partitions()
        if each.topic in topics
    }


def transaction(cluster: Cluster, transactional_id: str) -> Transaction:
    """A transactional id."""
    found = of_coordinator(cluster, lambda broker: broker.transactions.transaction(transactional_id))
    if found is None:
        return Transaction(transactional_id, "Dead")
    return Transaction(
        transactional_id,
        found.state.title,
        found.producer_id,
        found.producer_epoch,
        tuple(sorted(found.partitions)),
    )


def of_coordinator(cluster: Cluster, ask: Callable[[Broker], T | Deferred[T]]) -> T | None:
    """The coordinator's answer; None if there is no coordinator yet, if it is still loading, or while the state that it would
    answer is not committed.
    """
    for broker in cluster.brokers.values():
        answer = attempt(ask, broker)
        if not answer.done:
            return None
        with contextlib.suppress(KafkaError):
            return answer.value
    return None


def _classic_members(found: ClassicGroup) -> list[Member]:
    return [
        Member(member.member_id, member.client_id, member.instance_id, _assignment(member.assignment))
        for member in found.members
    ]


def _assignment(encoded: bytes) -> Partitions:
    """The partitions in a member's assignment; none if it is not in the format of consumers (Connect has another)."""
    try:  # every version begins like version 0, after two bytes with the version
        assignment, _ = ConsumerProtocolAssignment.decode(encoded, 2, 0)
    except WireError:
        return {}
    return {each.topic: tuple(sorted(each.partitions)) for each in assignment.assigned_partitions}


def _listed(partitions: Partitions) -> str:
    return ", ".join(f"{topic} {list(indexes)}" for topic, indexes in sorted(partitions.items())) or "nothing"
