"""The controller of this process: it decides, writes the decision to the metadata log, and only then makes it known.

Every operation goes the same way: plan records from the image, append them in one batch, replay them into the image,
tell the subscribers, return. So an answer is never ahead of the log, and what subscribers prepare (the logs of new
partitions) is ready before a client can see it.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from pykbroker.controller.eligible_leaders import clearing_records
from pykbroker.controller.internal_topics import Settings, topic_to_create
from pykbroker.controller.leaders import leader_changes, preferred_leader_changes
from pykbroker.controller.registrations import BrokerRegistration, fencing, leaving, registration
from pykbroker.controller.topics import (
    ConfigCheck,
    NewPartitions,
    NewTopic,
    TopicPlanner,
    TopicResult,
    check_partition_total,
    check_record_total,
)
from pykbroker.metadata.answers import Answers
from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.image import BrokerImage, MetadataImage
from pykbroker.metadata.quorum import Quorum
from pykbroker.metadata.replay import MetadataRecord, replay
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.config_record import ConfigRecord
from pykbroker.wire.internal.producer_ids_record import ProducerIdsRecord
from pykbroker.wire.internal.unregister_broker_record import UnregisterBrokerRecord

logger = logging.getLogger(__name__)

#: Producer ids are handed to brokers in blocks of this many (KIP-730).
PRODUCER_ID_BLOCK = 1000

Subscriber = Callable[[MetadataImage, MetadataDelta], None]


class RecordLog(Protocol):
    """Where decisions are kept: an ordered log of metadata records."""

    @property
    def end_offset(self) -> int:
        """The offset that the next record will get."""
        ...

    @property
    def epoch(self) -> int:
        """The leader epoch that records are appended under."""
        ...

    @property
    def quorum(self) -> Quorum:
        """Who votes on the log: this process alone."""
        ...

    def append(self, records: Sequence[MetadataRecord]) -> int:
        """Keep the records, all or none; durable on return. Returns the first one's offset. Raises KafkaError."""
        ...


class Controller:
    """Operations on the cluster's metadata. Not for several threads: the loop that owns the state calls it."""

    def __init__(
        self,
        log: RecordLog,
        image: MetadataImage,
        *,
        rng: random.Random,
        config: Settings,
        check_topic_configs: ConfigCheck,
    ) -> None:
        self.image = image
        #: Metadata answers given since the last change.
        self.answers = Answers()
        self._log = log
        self._rng = rng
        self._config = config
        self._planner = TopicPlanner(image, rng, check_topic_configs, self._topic_defaults)
        self._subscribers: list[Subscriber] = []

    @property
    def log(self) -> RecordLog:
        """Where the decisions are kept, to be looked at."""
        return self._log

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call ``subscriber(image, delta)`` after each commit, before its operation returns. It must not commit."""
        self._subscribers.append(subscriber)

    # Brokers

    def start_brokers(self, registrations: Sequence[BrokerRegistration], *, clean: bool = True) -> dict[int, int]:
        """Register the brokers of this process and fence all others; returns their broker epochs by id.

        ``clean`` says that the logs lost nothing since the last commit. Otherwise the partitions these brokers lead
        start a new leader epoch, by which clients notice that records may be gone.
        """
        here = {broker.id for broker in registrations}
        records: list[MetadataRecord] = []
        epochs: dict[int, int] = {}
        for broker in registrations:
            epochs[broker.id] = self._log.end_offset + len(records)
            records.append(registration(broker, epochs[broker.id], self._rng))
        records += (fencing(known) for known in self.image.active_brokers() if known.id not in here)
        records += leader_changes(self.image, here, new_epoch_for=() if clean else here)
        self.commit(records)
        return epochs

    def stop_brokers(self) -> None:
        """Fence every broker because the process ends. Leaders stay: they are the same after a clean start.

        A courtesy to whoever opens the log next (Kafka would wait for a session to end), so no failure of the disk
        stands in the way of the end.
        """
        records = [fencing(broker) for broker in self.image.active_brokers()]
        try:
            self.commit(records)
        except KafkaError as error:
            logger.warning("The end of the brokers could not be written to the metadata log: %s", error)

    def start_broker(self, broker: BrokerRegistration) -> int:
        """Register one broker while the others go on, and return its broker epoch.

        Its replicas are in sync again and lead what has no leader; others keep what they lead until an election.
        """
        epoch = self._log.end_offset
        alive = self._alive() | {broker.id}
        self.commit([registration(broker, epoch, self._rng), *leader_changes(self.image, alive)])
        return epoch

    def begin_shutdown(self, broker_id: int) -> None:
        """A broker is about to stop: its partitions move to other replicas in sync while it still answers (KIP-631).

        One that is not registered, or away already, is left alone.
        """
        self._take_out(broker_id, leaving)

    def fence_broker(self, broker_id: int) -> None:
        """Take a broker out while the others go on: clients no longer find it, and its partitions move.

        One that is not registered, or fenced already, is left alone.
        """
        self._take_out(broker_id, fencing)

    def unregister_broker(self, broker_id: int) -> None:
        """Forget a broker that is gone for good; one that runs is back with its next start.

        Raises KafkaError BROKER_ID_NOT_REGISTERED for an unknown one.
        """
        broker = self._registered(broker_id)
        records: list[MetadataRecord] = list(leader_changes(self.image, self._alive() - {broker_id}))
        self.commit([*records, UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)])

    def elect_preferred_leaders(self) -> None:
        """Give leadership back to the first replica of every partition, wherever it is in sync."""
        partitions = ((topic, each) for topic in self.image.topics.values() for each in topic.partitions.values())
        self.commit(list(preferred_leader_changes(self.image, partitions)))

    # Topics

    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> list[TopicResult]:
        """Create topics in one append; a result for each, in the order given. Names must differ.

        Raises KafkaError POLICY_VIOLATION when they are too many partitions for one request.
        """
        check_partition_total(topics, self._topic_defaults()[0])
        results = []
        records: list[MetadataRecord] = []
        for topic in topics:
            try:
                planned, result = self._planner.create(topic)
            except KafkaError as error:
                result = TopicResult(topic.name, error)
            else:
                records += planned
            results.append(result)
        check_record_total(records)
        if not validate_only:
            self.commit(records)
        return results

    def auto_create(self, names: Iterable[str]) -> dict[str, KafkaError | None]:
        """Create topics as first use does: with the broker's defaults, internal ones with their own settings."""
        wanted = [topic_to_create(name, self._config) for name in names]
        return {result.name: result.error for result in self.create_topics(wanted)}

    def delete_topics(self, topic_ids: Sequence[bytes]) -> dict[bytes, KafkaError | None]:
        """Delete topics in one append; what failed for each id, or None."""
        results: dict[bytes, KafkaError | None] = {}
        records: list[MetadataRecord] = []
        for topic_id in topic_ids:
            try:
                records.append(self._planner.remove(topic_id))
            except KafkaError as error:
                results[topic_id] = error
            else:
                results[topic_id] = None
        self.commit(records)
        return results

    def create_partitions(
        self, topics: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> list[tuple[str, KafkaError | None]]:
        """Add partitions to topics in one append; name and error of each, in the order given. Names must differ.

        Raises KafkaError POLICY_VIOLATION when they are too many for one request.
        """
        results: list[tuple[str, KafkaError | None]] = []
        records: list[MetadataRecord] = []
        for topic in topics:
            try:
                records += self._planner.add_partitions(topic)
            except KafkaError as error:
                results.append((topic.name, error))
            else:
                results.append((topic.name, None))
        check_record_total(records)
        if not validate_only:
            self.commit(records)
        return results

    # Settings and producer ids

    def alter_configs(self, changes: Mapping[tuple[int, str], Mapping[str, str | None]]) -> None:
        """Set (or with None remove) settings of resources (type, name), already validated, in one append.

        What would change nothing is left out.
        """
        records: list[ConfigRecord] = []
        for (resource_type, resource), settings in changes.items():
            now = self.image.config(resource_type, resource)
            records += (
                ConfigRecord(resource_type=resource_type, resource_name=resource, name=name, value=value)
                for name, value in settings.items()
                if now.get(name) != value
            )
        self.commit([*records, *clearing_records(self.image, records)])

    def allocate_producer_ids(self, broker_id: int) -> range:
        """A block of producer ids that nobody had before, for one broker.

        Raises KafkaError, with BROKER_ID_NOT_REGISTERED for one that was unregistered while it ran.
        """
        first = self.image.next_producer_id
        broker = self._registered(broker_id)
        self.commit(
            [
                ProducerIdsRecord(
                    broker_id=broker_id, broker_epoch=broker.epoch, next_producer_id=first + PRODUCER_ID_BLOCK
                )
            ]
        )
        return range(first, first + PRODUCER_ID_BLOCK)

    # The one way into the log

    def commit(self, records: Sequence[MetadataRecord]) -> None:
        """Append, replay, tell. Raises KafkaError when the log cannot take the records: then nothing has changed."""
        if not records:
            return
        base_offset = self._log.append(records)
        self.answers.forget()
        delta = MetadataDelta()
        for record in records:
            replay(self.image, record, delta)
        self.image.offset = base_offset + len(records) - 1
        self.image.epoch = self._log.epoch
        for subscriber in self._subscribers:
            subscriber(self.image, delta)

    def _topic_defaults(self) -> tuple[int, int]:
        return self._config["num.partitions"], self._config["default.replication.factor"]

    def _registered(self, broker_id: int) -> BrokerImage:
        broker = self.image.brokers.get(broker_id)
        if broker is None:
            raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered")
        return broker

    def _take_out(self, broker_id: int, record: Callable[[BrokerImage], MetadataRecord]) -> None:
        broker = self.image.brokers.get(broker_id)
        if broker is None or broker.fenced:
            return
        self.commit([record(broker), *leader_changes(self.image, self._alive() - {broker_id})])

    def _alive(self) -> set[int]:
        return {broker.id for broker in self.image.brokers.values() if broker.active}
