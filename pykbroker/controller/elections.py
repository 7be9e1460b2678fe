"""Elections requested by operators (KIP-183, KIP-460). Rules: ReplicationControlManager of Kafka 4.4.0.

Where brokers share a store, a replica on a running broker is in sync, so a partition without a leader has none, and an unclean
election finds none either. Where they have a store each, ``replication_control.py`` elects.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from pykbroker.controller.leaders import preferred_leader_change
from pykbroker.controller.partition_changes import Election, Target
from pykbroker.metadata.image import NO_LEADER, MetadataImage, PartitionImage, TopicImage
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord

if TYPE_CHECKING:
    from pykbroker.controller.replication_control import ReplicationControl

#: The weight of an election (``runtime/slices.py``).
_WEIGHT = 0.3
#: By topic the error of each partition.
Results = dict[str, list[tuple[int, KafkaError | None]]]


class ElectionType(IntEnum):
    """The kind of election: the preferred replica, or any replica rather than none."""

    PREFERRED = 0
    UNCLEAN = 1


def election_type(code: int) -> ElectionType:
    """The type with this code in a request. Raises KafkaError INVALID_REQUEST."""
    try:
        return ElectionType(code)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown election type {code}") from None


def plan_election(
    image: MetadataImage, kind: ElectionType, name: str, index: int, control: ReplicationControl | None = None
) -> PartitionChangeRecord:
    """The record that elects the leader; ``control`` elects where brokers have a store each.

    Raises KafkaError UNKNOWN_TOPIC_OR_PARTITION, ELECTION_NOT_NEEDED, or, if no leader is possible, PREFERRED_LEADER_NOT_AVAILABLE or
    ELIGIBLE_LEADERS_NOT_AVAILABLE.
    """
    topic, partition = _existing(image, name, index)
    unclean = kind is ElectionType.UNCLEAN
    if partition.leader != NO_LEADER if unclean else partition.leader == partition.replicas[0]:
        raise KafkaError(ErrorCode.ELECTION_NOT_NEEDED)
    record: PartitionChangeRecord | None = None
    if control is not None:
        election = Election.UNCLEAN if unclean else Election.PREFERRED
        record = control.change(topic, partition, Target.of(partition), election)
    elif not unclean:
        record = preferred_leader_change(image, topic, partition)
    if record is None:
        raise KafkaError(
            ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE if unclean else ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        )
    return record


def plan_leader(image: MetadataImage, name: str, index: int, broker_id: int) -> list[PartitionChangeRecord]:
    """The record that makes the given broker the leader; none if it already is. Raises KafkaError
    UNKNOWN_TOPIC_OR_PARTITION, or ELIGIBLE_LEADERS_NOT_AVAILABLE if the broker has no in-sync replica.
    """
    topic, partition = _existing(image, name, index)
    if broker_id not in partition.isr:
        raise KafkaError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
    if broker_id == partition.leader:
        return []
    return [PartitionChangeRecord(topic_id=topic.id, partition_id=index, leader=broker_id)]


def _existing(image: MetadataImage, name: str, index: int) -> tuple[TopicImage, PartitionImage]:
    topic = image.topic(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    partition = topic.partitions.get(index)
    if partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}")
    return topic, partition


def plan_elections(
    image: MetadataImage,
    kind: ElectionType,
    wanted: Iterable[tuple[str, Sequence[int]]] | None,
    control: ReplicationControl | None = None,
) -> Generator[float, None, tuple[list[PartitionChangeRecord], Results]]:
    """The records of many elections in slices, and by topic the error of each partition. ``wanted`` None means all partitions that need
    an election; ``control``: see ``plan_election``.
    """
    records: list[PartitionChangeRecord] = []
    results: Results = {}
    for topic, indexes in _all_partitions(image) if wanted is None else wanted:
        result = results.setdefault(topic, [])
        for index in indexes:
            error = None
            try:
                records.append(plan_election(image, kind, topic, index, control))
            except KafkaError as refusal:
                if wanted is None and refusal.code is ErrorCode.ELECTION_NOT_NEEDED:
                    yield _WEIGHT
                    continue
                error = refusal.kept()
            result.append((index, error))
            yield _WEIGHT
    return records, results


def _all_partitions(image: MetadataImage) -> Iterator[tuple[str, Sequence[int]]]:
    """Every topic with the indexes of its partitions."""
    for topic in image.topics.values():
        yield topic.name, sorted(topic.partitions)
