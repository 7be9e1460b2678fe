"""Reassignments of partitions to other brokers (KIP-455): planning, progress and completion.

Where brokers share a store, a replica on a running broker is in sync at once: a reassignment to running brokers is complete
when it is answered, and one that names a stopped broker stays under way, with its adding and removing replicas in the image,
until that broker starts. Where they have a store each, it ends when leaders say that the added replicas are in sync
(``alter_partition.py``). Rules and messages: ReplicationControlManager, PartitionReassignmentReplicas and
PartitionReassignmentRevert of Kafka 4.4.0.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.controller.assignments import (
    check_assignment,
    completed_reassignment,
    directory_for_new,
    is_under_way,
    leader_of,
)
from pykbroker.controller.eligible_leaders import living_isr, note_eligible
from pykbroker.metadata.image import MetadataImage, PartitionImage, TopicImage
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord

if TYPE_CHECKING:
    from pykbroker.controller.replication_control import ReplicationControl


class Reassignment(NamedTuple):
    """A partition and its new replicas, the preferred leader first; None cancels a reassignment."""

    topic: str
    partition: int
    replicas: Sequence[int] | None


def ongoing_reassignments(image: MetadataImage) -> Iterator[tuple[TopicImage, PartitionImage]]:
    """The partitions with a reassignment under way."""
    for topic in image.topics.values():
        for partition in topic.in_order():
            if is_under_way(partition):
                yield topic, partition


def plan_reassignment(
    image: MetadataImage,
    name: str,
    index: int,
    replicas: Sequence[int] | None,
    *,
    same_factor: bool = False,
    control: ReplicationControl | None = None,
) -> PartitionChangeRecord | None:
    """The record that reassigns a partition to ``replicas``, the preferred leader first, or with None cancels a reassignment.

    None if nothing changes. ``same_factor`` refuses another number of replicas (KIP-860); ``control`` plans where brokers have a
    store each.
    Raises KafkaError UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR or
    NO_REASSIGNMENT_IN_PROGRESS.
    """
    topic = image.topic(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    partition = topic.partitions.get(index)
    if partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{index}.")
    if replicas is not None:
        check_assignment(image.brokers, replicas)
        if same_factor:
            _check_factor(partition, replicas)
    if control is not None:
        return _planned(control, topic, partition, replicas)
    alive = {broker.id for broker in image.brokers.values() if broker.active}
    after = _taken_back(topic, partition) if replicas is None else _begun(partition, replicas)
    return _change(image, topic, partition, after, alive)


def plan_reassignments(
    image: MetadataImage,
    wanted: Iterable[Reassignment],
    *,
    same_factor: bool,
    control: ReplicationControl | None = None,
) -> tuple[list[PartitionChangeRecord], list[KafkaError | None]]:
    """The records of many reassignments, each of another partition, and the error of each."""
    records: list[PartitionChangeRecord] = []
    errors: list[KafkaError | None] = []
    for asked in wanted:
        try:
            record = plan_reassignment(
                image, asked.topic, asked.partition, asked.replicas, same_factor=same_factor, control=control
            )
        except KafkaError as refusal:
            errors.append(refusal.kept())
            continue
        errors.append(None)
        if record is not None:
            records.append(record)
    return records, errors


def without_repeats(wanted: Iterable[Reassignment]) -> list[list[Reassignment]]:
    """The reassignments in their order, divided so that no part names a partition twice."""
    parts: list[list[Reassignment]] = []
    named: set[tuple[str, int]] = set()
    for asked in wanted:
        key = asked.topic, asked.partition
        if not parts or key in named:
            parts.append([])
            named.clear()
        parts[-1].append(asked)
        named.add(key)
    return parts


def completion(
    image: MetadataImage, topic: TopicImage, partition: PartitionImage, alive: set[int]
) -> PartitionChangeRecord | None:
    """The record that completes a reassignment whose replicas are all in sync with these running brokers; None otherwise."""
    isr = [replica for replica in partition.replicas if replica in alive]
    if _completed(partition, isr) is None:
        return None
    return _change(image, topic, partition, partition, alive)


def _planned(
    control: ReplicationControl, topic: TopicImage, partition: PartitionImage, replicas: Sequence[int] | None
) -> PartitionChangeRecord | None:
    """The record where brokers have a store each. Raises what ``_taken_back`` raises."""
    if replicas is None:
        after = _taken_back(topic, partition, unclean=control.may_elect_unclean(topic.name))
        return control.brought_to(topic, partition, after, automatic=True)
    return control.brought_to(topic, partition, _begun_with_copies(partition, replicas), automatic=False)


def _check_factor(partition: PartitionImage, replicas: Sequence[int]) -> None:
    """Check the number of replicas against the partition's, or the target of a reassignment under way. Raises KafkaError
    INVALID_REPLICATION_FACTOR.
    """
    factor = len(partition.replicas) - len(partition.removing_replicas)
    if factor != len(replicas):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {factor} to {len(replicas)}",
        )


def _begun(partition: PartitionImage, target: Sequence[int]) -> PartitionImage:
    """The partition during its reassignment: the target's replicas, then those to be removed."""
    settled = set(partition.replicas) - set(partition.adding_replicas)
    leaving = sorted(set(partition.replicas) - set(target))
    return dataclasses.replace(
        partition,
        replicas=[*target, *leaving],
        adding_replicas=sorted(set(target) - settled),
        removing_replicas=leaving,
    )


def _begun_with_copies(partition: PartitionImage, target: Sequence[int]) -> PartitionImage:
    """As ``_begun`` where each replica is a copy: one that a reassignment under way is adding is one to be removed like the others,
    and as in Kafka an empty list leaves that reassignment's.
    """
    leaving = sorted(set(partition.replicas) - set(target))
    return dataclasses.replace(
        partition,
        replicas=[*target, *leaving],
        adding_replicas=sorted(set(target) - set(partition.replicas)) or partition.adding_replicas,
        removing_replicas=leaving or partition.removing_replicas,
    )


def _taken_back(topic: TopicImage, partition: PartitionImage, *, unclean: bool = False) -> PartitionImage:
    """The partition as it was before its reassignment. Raises KafkaError NO_REASSIGNMENT_IN_PROGRESS, or
    INVALID_REPLICA_ASSIGNMENT if that would remove the last in-sync replica, unless elections may be ``unclean``.
    """
    if not is_under_way(partition):
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    isr = [replica for replica in partition.isr if replica not in partition.adding_replicas]
    replicas = [replica for replica in partition.replicas if replica not in partition.adding_replicas]
    if not isr and unclean and replicas:
        isr = replicas[:1]
    if not isr:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Unable to revert partition assignment for {topic.name}:{partition.index} because it would require an "
            "unclean leader election.",
        )
    return dataclasses.replace(partition, replicas=replicas, isr=isr, adding_replicas=[], removing_replicas=[])


def _completed(partition: PartitionImage, isr: list[int]) -> tuple[list[int], list[int]] | None:
    return completed_reassignment(partition.replicas, partition.adding_replicas, partition.removing_replicas, isr)


def _change(
    image: MetadataImage, topic: TopicImage, before: PartitionImage, after: PartitionImage, alive: set[int]
) -> PartitionChangeRecord | None:
    """The record from one state of a partition to another, whose running replicas are in sync.

    It names a leader, and so starts a new leader epoch, if the leader changes or a replica was removed.
    """
    isr = living_isr(image, after, alive)
    adding, removing, replicas = after.adding_replicas, after.removing_replicas, after.replicas
    done = _completed(after, isr)
    if done is not None:
        (replicas, isr), adding, removing = done, [], []
    record = PartitionChangeRecord(topic_id=topic.id, partition_id=before.index)
    if replicas != before.replicas:
        record.replicas = replicas
        record.directories = [_directory(image, before, replica) for replica in replicas]
    if set(isr) != set(before.isr):
        record.isr = isr
    if adding != before.adding_replicas:
        record.adding_replicas = adding
    if removing != before.removing_replicas:
        record.removing_replicas = removing
    leader = leader_of(before, isr, alive)
    if leader != before.leader or not set(before.replicas) <= set(replicas):
        record.leader = leader
    if record == PartitionChangeRecord(topic_id=topic.id, partition_id=before.index):
        return None
    note_eligible(image, topic, before, record)
    return record


def _directory(image: MetadataImage, before: PartitionImage, replica: int) -> bytes:
    kept = before.directory_of(replica)
    if kept is not None:
        return kept
    return directory_for_new(image.brokers.get(replica))
