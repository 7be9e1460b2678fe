"""Leaders and ISRs when brokers start and stop.

The brokers of one process share one store, so a replica on a running broker is always in sync: the ISR is the running
replicas (``living_isr`` if none runs). A running leader stays; otherwise the first running replica leads. A change that names
a leader starts a new leader epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pykbroker.controller.assignments import is_under_way, leader_of
from pykbroker.controller.eligible_leaders import living_isr, note_eligible
from pykbroker.metadata.image import MetadataImage, PartitionImage, TopicImage

if TYPE_CHECKING:
    from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord


def leader_changes(
    image: MetadataImage, alive: set[int], *, new_epoch_for: Iterable[int] = ()
) -> Iterator[PartitionChangeRecord]:
    """The records that bring every partition in line with the brokers in ``alive``: see ``each_leader_change``."""
    return (record for record in each_leader_change(image, alive, new_epoch_for=new_epoch_for) if record is not None)


def each_leader_change(
    image: MetadataImage, alive: set[int], *, new_epoch_for: Iterable[int] = ()
) -> Iterator[PartitionChangeRecord | None]:
    """The record of each partition that brings it in line with the brokers in ``alive``, None if it is.

    A partition led by a broker in ``new_epoch_for`` gets a new leader epoch even if the leader stays: its log may
    have lost records, which clients notice by the epoch (KIP-320).
    """
    bump = set(new_epoch_for)
    for topic in image.topics.values():
        for partition in topic.partitions.values():
            if is_under_way(partition):
                completed = _completion(image, topic, partition, alive)
                if completed is not None:
                    yield completed
                    continue
            isr = living_isr(image, partition, alive)
            leader = leader_of(partition, isr, alive)
            new_isr = isr if set(isr) != set(partition.isr) else None
            new_leader = leader != partition.leader or leader in bump
            if new_isr is not None or new_leader:
                record = _change(topic, partition)
                record.isr = new_isr
                if new_leader:
                    record.leader = leader
                note_eligible(image, topic, partition, record)
                yield record
            else:
                yield None


def preferred_leader_change(
    image: MetadataImage, topic: TopicImage, partition: PartitionImage
) -> PartitionChangeRecord | None:
    """The record that makes the first replica the leader; None if it is, is not in sync, or its broker does not run."""
    preferred = partition.replicas[0]
    broker = image.brokers.get(preferred)
    if partition.leader == preferred or preferred not in partition.isr or broker is None or not broker.active:
        return None
    record = _change(topic, partition)
    record.leader = preferred
    note_eligible(image, topic, partition, record)
    return record


def _change(topic: TopicImage, partition: PartitionImage) -> PartitionChangeRecord:
    from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord

    return PartitionChangeRecord(topic_id=topic.id, partition_id=partition.index)


def _completion(
    image: MetadataImage, topic: TopicImage, partition: PartitionImage, alive: set[int]
) -> PartitionChangeRecord | None:
    from pykbroker.controller.reassignments import completion

    return completion(image, topic, partition, alive)
