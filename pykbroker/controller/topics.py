"""Creation and deletion of topics and partitions: validation, and the records of the change.

Pure functions of the image; the controller commits their records. Order of checks, codes and messages are those of Kafka
4.4.0's controller (ReplicationControlManager), which clients and their test suites depend on.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pykbroker.controller.assignments import check_assignment, directory_for_new
from pykbroker.controller.placement import placements
from pykbroker.metadata.batches import MAX_RECORDS_PER_BATCH
from pykbroker.metadata.ids import random_id
from pykbroker.metadata.image import TOPIC_RESOURCE, MetadataImage, TopicImage
from pykbroker.metadata.names import CLUSTER_METADATA, collision_key, validate_topic_name
from pykbroker.metadata.replay import MetadataRecord
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.config_record import ConfigRecord
from pykbroker.wire.internal.partition_record import PartitionRecord
from pykbroker.wire.internal.remove_topic_record import RemoveTopicRecord
from pykbroker.wire.internal.topic_record import TopicRecord

if TYPE_CHECKING:
    from pykbroker.controller.mutation_quotas import MutationQuota

#: Checks the settings of a new topic; raises KafkaError INVALID_CONFIG.
ConfigCheck = Callable[[Mapping[str, str]], None]


#: The weight of a topic, and of looking at a partition or making its record (``runtime/slices.py``).
_TOPIC_WEIGHT = 1
_PARTITION_WEIGHT = 0.5


@dataclass(slots=True)
class NewTopic:
    """A topic to create. -1 means the broker's default; with ``assignments`` (partition, brokers) both must be -1."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    assignments: Sequence[tuple[int, list[int]]] = ()
    configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(slots=True)
class TopicResult:
    """The result for one topic of a request."""

    name: str
    error: KafkaError | None = None
    topic_id: bytes = bytes(16)
    partitions: int = -1
    replication_factor: int = -1


@dataclass(slots=True)
class NewPartitions:
    """A topic and its new total ``count`` of partitions; ``assignments`` names the brokers of each new one."""

    name: str
    count: int
    assignments: Sequence[list[int]] | None = None


def _check_partition_total(topics: Iterable[NewTopic], default_partitions: int) -> None:
    """Raises KafkaError POLICY_VIOLATION for more partitions than one request may create."""
    total = 0
    for topic in topics:
        if topic.assignments:
            total += len(topic.assignments)
        else:
            total += default_partitions if topic.partitions == -1 else max(topic.partitions, 0)
    if total > MAX_RECORDS_PER_BATCH:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")


def _check_record_total(records: Sequence[MetadataRecord]) -> None:
    """Raises KafkaError POLICY_VIOLATION for more records than one batch of the metadata log may have."""
    if len(records) > MAX_RECORDS_PER_BATCH:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")


class TopicPlanner:
    """Plans against one image. ``defaults`` gives partitions and replication factor for -1."""

    def __init__(
        self,
        image: MetadataImage,
        rng: random.Random,
        check_configs: ConfigCheck,
        defaults: Callable[[], tuple[int, int]],
    ) -> None:
        self._image = image
        self._rng = rng
        self._check_configs = check_configs
        self._defaults = defaults

    def create_all(
        self, topics: Sequence[NewTopic], quota: MutationQuota | None = None
    ) -> Generator[float, None, tuple[list[MetadataRecord], list[TopicResult]]]:
        """The records that create topics, and the result of each, in slices. Their partitions are charged to ``quota``.

        Raises KafkaError POLICY_VIOLATION for too many partitions in one request.
        """
        _check_partition_total(topics, self._defaults()[0])
        results = []
        records: list[MetadataRecord] = []
        for topic in topics:
            try:
                planned, result = yield from self.create(topic)
                if quota is not None:
                    quota.record(result.partitions)
            except KafkaError as error:
                result = TopicResult(topic.name, error.kept())
            else:
                records += planned
            results.append(result)
            yield _TOPIC_WEIGHT
        _check_record_total(records)
        return records, results

    def add_all_partitions(
        self, topics: Sequence[NewPartitions], quota: MutationQuota | None = None
    ) -> Generator[float, None, tuple[list[MetadataRecord], list[tuple[str, KafkaError | None]]]]:
        """The records that give topics more partitions, and the error of each, in slices. The partitions are charged to ``quota``.

        Raises KafkaError POLICY_VIOLATION where they are too many for one request.
        """
        self._check_additional(topics)
        results: list[tuple[str, KafkaError | None]] = []
        records: list[MetadataRecord] = []
        for topic in topics:
            try:
                planned = yield from self.add_partitions(topic)
                if quota is not None:
                    quota.record(len(planned))
                records += planned
            except KafkaError as error:
                results.append((topic.name, error.kept()))
            else:
                results.append((topic.name, None))
            yield _TOPIC_WEIGHT
        _check_record_total(records)
        return records, results

    def _check_additional(self, topics: Iterable[NewPartitions]) -> None:
        """Raises KafkaError POLICY_VIOLATION before anything is planned, as Apache Kafka 4.4 does."""
        known = ((self._image.topic(each.name), each.count) for each in topics)
        total = sum(max(count - len(topic.partitions), 0) for topic, count in known if topic is not None and count >= 0)
        if total > MAX_RECORDS_PER_BATCH:
            message = "Excessively large number of additional partitions per request."
            raise KafkaError(ErrorCode.POLICY_VIOLATION, message)

    def create(self, new: NewTopic) -> Generator[float, None, tuple[list[MetadataRecord], TopicResult]]:
        """The records that create a topic, and its result for the answer.

        Raises KafkaError TOPIC_ALREADY_EXISTS, INVALID_TOPIC_EXCEPTION, INVALID_CONFIG, INVALID_PARTITIONS,
        INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT or INVALID_REQUEST.
        """
        if new.name == CLUSTER_METADATA:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {CLUSTER_METADATA} is prohibited.")
        self._check_name(new.name)
        configs = _without_nulls(new.configs)
        self._check_configs(configs)
        replicas = yield from (self._manual_replicas(new) if new.assignments else self._placed_replicas(new))
        topic_id = random_id(self._rng)
        while topic_id in self._image.topics_by_id:
            topic_id = random_id(self._rng)
        records: list[MetadataRecord] = [TopicRecord(name=new.name, topic_id=topic_id)]
        records += (
            ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name=new.name, name=name, value=value)
            for name, value in configs.items()
        )
        for index, brokers in enumerate(replicas):
            records.append(self._partition_record(topic_id, index, brokers))
            yield _PARTITION_WEIGHT
        return records, TopicResult(new.name, None, topic_id, len(replicas), len(replicas[0]))

    def add_partitions(self, wanted: NewPartitions) -> Generator[float, None, list[MetadataRecord]]:
        """The records of a topic's additional partitions.

        Raises KafkaError UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR or INVALID_REPLICA_ASSIGNMENT.
        """
        topic = self._image.topic(wanted.name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        first = len(topic.partitions)
        additional = wanted.count - first
        _check_increase(topic, wanted.count)
        replication_factor = len(topic.partitions[0].replicas)
        if wanted.assignments is None:
            replicas: Iterable[list[int]] = placements(
                self._image.brokers.values(), additional, replication_factor, self._rng
            )
        else:
            replicas = yield from self._manual_additions(wanted.assignments, additional, first, replication_factor)
        records = []
        for i, brokers in enumerate(replicas):
            records.append(self._partition_record(topic.id, first + i, brokers))
            yield 2 * _PARTITION_WEIGHT  # it was placed, too
        return records

    def remove(self, topic_id: bytes) -> MetadataRecord:
        """The record that removes a topic. Raises KafkaError UNKNOWN_TOPIC_ID."""
        if topic_id not in self._image.topics_by_id:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        return RemoveTopicRecord(topic_id=topic_id)

    def _check_name(self, name: str) -> None:
        if name in self._image.topics:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        key = collision_key(name)
        alike = None if key is None else self._image.collisions.get(key)
        if alike:
            raise KafkaError(
                ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {alike[0]}"
            )
        validate_topic_name(name)

    def _placed_replicas(self, new: NewTopic) -> Generator[float, None, list[list[int]]]:
        if new.replication_factor < -1 or new.replication_factor == 0:
            raise KafkaError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            )
        if new.partitions < -1 or new.partitions == 0:
            raise KafkaError(
                ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
            )
        default_partitions, default_factor = self._defaults()
        partitions = default_partitions if new.partitions == -1 else new.partitions
        factor = default_factor if new.replication_factor == -1 else new.replication_factor
        replicas = []
        active = True
        try:
            for brokers in placements(self._image.brokers.values(), partitions, factor, self._rng):
                replicas.append(brokers)
                active = active and bool(self._active(brokers))
                yield _PARTITION_WEIGHT
        except KafkaError as error:
            raise KafkaError(
                error.code, f"Unable to replicate the partition {factor} time(s): {error.message}"
            ) from None
        if not active:
            raise KafkaError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"Unable to replicate the partition {factor} time(s): "
                "All brokers are currently fenced or in controlled shutdown.",
            )
        return replicas

    def _manual_replicas(self, new: NewTopic) -> Generator[float, None, list[list[int]]]:
        if new.replication_factor != -1:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                "A manual partition assignment was specified, but replication factor was not set to -1.",
            )
        if new.partitions != -1:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                "A manual partition assignment was specified, but numPartitions was not set to -1.",
            )
        replicas: dict[int, list[int]] = {}
        factor: int | None = None
        for index, brokers in new.assignments:
            if index in replicas:
                raise KafkaError(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"Found multiple manual partition assignments for partition {index}",
                )
            self._check_assignment(index, brokers, factor)
            factor = len(brokers)
            replicas[index] = brokers
            yield _PARTITION_WEIGHT
        if any(index not in replicas for index in range(len(replicas))):
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence"
            )
        return [replicas[index] for index in range(len(replicas))]

    def _manual_additions(
        self, assignments: Sequence[list[int]], additional: int, first: int, factor: int
    ) -> Generator[float, None, Sequence[list[int]]]:
        if len(assignments) != additional:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {additional} additional partition(s), but only {len(assignments)} "
                "assignment(s) were specified.",
            )
        for i, brokers in enumerate(assignments):
            self._check_assignment(first + i, brokers, factor)
            yield _PARTITION_WEIGHT
        return assignments

    def _check_assignment(self, index: int, brokers: list[int], factor: int | None) -> None:
        check_assignment(self._image.brokers, brokers, factor)
        if not self._active(brokers):
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "All brokers specified in the manual partition assignment for partition "
                f"{index} are fenced or in controlled shutdown.",
            )

    def _active(self, brokers: Iterable[int]) -> list[int]:
        known = self._image.brokers
        return [broker_id for broker_id in brokers if known[broker_id].active]

    def _partition_record(self, topic_id: bytes, index: int, brokers: list[int]) -> PartitionRecord:
        isr = self._active(brokers)
        known = self._image.brokers
        return PartitionRecord(
            partition_id=index,
            topic_id=topic_id,
            replicas=brokers,
            isr=isr,
            leader=isr[0],
            leader_epoch=0,
            partition_epoch=0,
            directories=[directory_for_new(known[broker_id]) for broker_id in brokers],
        )


def _without_nulls(configs: Mapping[str, str | None]) -> dict[str, str]:
    nulls = [name for name, value in configs.items() if value is None]
    if nulls:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}")
    return {name: value for name, value in configs.items() if value is not None}


def _check_increase(topic: TopicImage, count: int) -> None:
    have = len(topic.partitions)
    if count == have:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {have} partition(s).")
    if count < have:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {have} partition(s); {count} would not be an increase.",
        )
