"""Two controllers, asked the same by the same brokers that are none: Apache Kafka's on its listener, and ours as an object.

What is compared are the metadata records that each request made, and its answer.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, cast

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.awaiting import eventually
from compat_tests.oracle.connection import Connection
from pykbroker.controller.config_alterations import Alteration, Change, Operation
from pykbroker.controller.elections import ElectionType
from pykbroker.controller.reassignments import Reassignment
from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.batches import decode_batches
from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.features import SUPPORTED_RANGES
from pykbroker.metadata.image import MetadataImage, PartitionImage
from pykbroker.metadata.replay import MetadataRecord, replay
from pykbroker.tests.kit.metadata import make_replicating_controller, records_in
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages import alter_partition as altering
from pykbroker.wire.messages import alter_partition_reassignments as reassigning
from pykbroker.wire.messages import create_topics as creating
from pykbroker.wire.messages import delete_topics as deleting
from pykbroker.wire.messages import elect_leaders as electing
from pykbroker.wire.messages import incremental_alter_configs as configuring
from pykbroker.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from pykbroker.wire.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from pykbroker.wire.messages.unregister_broker import UnregisterBrokerRequest

_FAR_AHEAD = 2**40
#: Records that requests of a test do not make.
_OTHERS = frozenset({"BeginTransactionRecord", "EndTransactionRecord", "NoOpRecord", "ProducerIdsRecord"})


def directory(broker: int) -> bytes:
    """The log directory of a broker."""
    return bytes([broker]) * 16


class ComparedController(ABC):
    """One of the two. ``image`` is what its own log makes; ``news`` what the last requests added to it."""

    def __init__(self, cluster_id: str) -> None:
        self.image = MetadataImage(cluster_id)
        self._seen = -1
        self.catch_up()

    def catch_up(self) -> list[MetadataRecord]:
        """The records since the last call, replayed into the image."""
        found = []
        for offset, record in self.log():
            if offset > self._seen and type(record).__name__ not in _OTHERS:
                replay(self.image, copy.deepcopy(record), MetadataDelta())
                found.append(record)
            self._seen = max(self._seen, offset)
        return found

    @abstractmethod
    def log(self) -> Sequence[tuple[int, MetadataRecord]]:
        """All records with their offsets."""

    @abstractmethod
    def register(self, request: BrokerRegistrationRequest) -> int:
        """The error code."""

    @abstractmethod
    def heartbeat(self, request: BrokerHeartbeatRequest) -> tuple[int, bool, bool]:
        """Error code, whether it is fenced, whether it may stop."""

    @abstractmethod
    def alter_partition(self, request: altering.AlterPartitionRequest) -> altering.AlterPartitionResponsePartitionData:
        """The one result."""

    @abstractmethod
    def create(self, topic: str, replicas: list[int]) -> int:
        """The error code."""

    @abstractmethod
    def elect(self, kind: ElectionType, topic: str) -> tuple[int, str | None]:
        """Error code and message."""

    @abstractmethod
    def reassign(self, topic: str, replicas: list[int] | None) -> tuple[int, str | None]:
        """Error code and message."""

    @abstractmethod
    def configure(self, kind: int, resource: str, name: str, value: str | None) -> int:
        """The error code."""

    @abstractmethod
    def unregister(self, broker: int) -> int:
        """The error code."""

    @abstractmethod
    def delete(self, topic: str) -> None:
        """Remove a topic."""

    # What both are asked, with the epochs that each of them has given

    def partition(self, topic: str) -> PartitionImage:
        found = self.image.partition(topic, 0)
        assert found is not None
        return found

    def start(self, broker: int, incarnation: int, *, clean: bool) -> int:
        """Register a broker whose marker of a clean shutdown is there, or not."""
        known = self.image.brokers.get(broker)
        request = BrokerRegistrationRequest(
            broker_id=broker,
            cluster_id=self.image.cluster_id,
            incarnation_id=incarnation.to_bytes(16, "big"),
            listeners=[Listener("PLAINTEXT", "127.0.0.1", 9000 + broker, 0)],
            features=[Feature(name, low, high) for name, (low, high) in SUPPORTED_RANGES.items()],
            log_dirs=[directory(broker)],
            previous_broker_epoch=known.epoch if clean and known is not None else -1,
        )
        return self.register(request)

    def beat(self, broker: int, **wants: Any) -> tuple[int, bool, bool]:
        """A heartbeat of a broker that knows all metadata; ``wants`` are fields of the request."""
        return self.heartbeat(BrokerHeartbeatRequest(broker, self.image.brokers[broker].epoch, _FAR_AHEAD, **wants))

    def stop(self, broker: int) -> tuple[int, bool, bool]:
        """A controlled shutdown, as long as it takes the others to learn of it."""

        def ask() -> tuple[int, bool, bool]:
            for other in self.image.brokers.values():
                if other.id not in (1, broker) and not other.fenced:
                    self.beat(other.id)
            return self.beat(broker, want_shut_down=True)

        return eventually(
            ask, lambda answer: answer[2], 20
        )  # the oracle's own broker says twice a second what it knows

    def isr(self, topic: str, members: list[int], **given: int) -> tuple[Any, ...]:
        """The leader alters the ISR; ``given`` are differences to what it knows: of an epoch, or another recovery state or leader."""
        now = self.partition(topic)
        leader = given.get("leader", now.leader)
        stale = given.get("member_epoch", 0)
        wanted = altering.AlterPartitionRequestPartitionData(
            partition_index=given.get("index", 0),
            leader_epoch=now.leader_epoch + given.get("leader_epoch", 0),
            new_isr_with_epochs=[
                altering.BrokerState(each, self.image.brokers[each].epoch + stale if each in self.image.brokers else -1)
                for each in members
            ],
            leader_recovery_state=given.get("recovery", now.leader_recovery_state),
            partition_epoch=now.partition_epoch + given.get("partition_epoch", 0),
        )
        requested = altering.AlterPartitionRequestTopicData(self.image.topics[topic].id, [wanted])
        broker = self.image.brokers.get(leader)
        answer = self.alter_partition(
            altering.AlterPartitionRequest(leader, -1 if broker is None else broker.epoch, [requested])
        )
        return (
            answer.error_code,
            answer.leader_id,
            answer.leader_epoch,
            tuple(answer.isr),
            answer.leader_recovery_state,
            answer.partition_epoch,
        )


class KafkasController(ComparedController):
    """Apache Kafka's, over the network."""

    def __init__(self, kafka: ApacheKafka) -> None:
        self._kafka = kafka
        self._connection = Connection(kafka.controller)
        self._client = Connection(kafka.bootstrap)
        properties = (kafka.data_dir / "meta.properties").read_text()
        (cluster_id,) = (line[11:] for line in properties.splitlines() if line.startswith("cluster.id="))
        super().__init__(cluster_id)

    def close(self) -> None:
        self._connection.close()
        self._client.close()

    def log(self) -> Sequence[tuple[int, MetadataRecord]]:
        found = []
        for file in sorted((self._kafka.data_dir / "__cluster_metadata-0").glob("*.log")):
            for batch in decode_batches(file.read_bytes()):
                found += [(batch.base_offset + i, record) for i, record in enumerate(batch.records)]
        return found

    def register(self, request: BrokerRegistrationRequest) -> int:
        return cast("int", self._ask(request, 4).error_code)

    def heartbeat(self, request: BrokerHeartbeatRequest) -> tuple[int, bool, bool]:
        answer = self._ask(request, 2)
        return answer.error_code, answer.is_fenced, answer.should_shut_down

    def alter_partition(self, request: altering.AlterPartitionRequest) -> altering.AlterPartitionResponsePartitionData:
        answer = self._ask(request, 3)
        if answer.error_code:
            return altering.AlterPartitionResponsePartitionData(error_code=answer.error_code)
        return cast("altering.AlterPartitionResponsePartitionData", answer.topics[0].partitions[0])

    def create(self, topic: str, replicas: list[int]) -> int:
        assignment = [creating.CreatableReplicaAssignment(0, replicas)]
        request = creating.CreateTopicsRequest([creating.CreatableTopic(topic, -1, -1, assignment)], 20_000)
        return cast("int", self._client.ask(request, 7).topics[0].error_code)  # type: ignore[attr-defined]

    def elect(self, kind: ElectionType, topic: str) -> tuple[int, str | None]:
        request = electing.ElectLeadersRequest(int(kind), [electing.TopicPartitions(topic, [0])], 20_000)
        result = self._ask(request, 2).replica_election_results[0].partition_result[0]
        return result.error_code, result.error_message

    def reassign(self, topic: str, replicas: list[int] | None) -> tuple[int, str | None]:
        wanted = reassigning.ReassignableTopic(topic, [reassigning.ReassignablePartition(0, replicas)])
        result = self._ask(reassigning.AlterPartitionReassignmentsRequest(20_000, True, [wanted]), 1).responses[0]
        return result.partitions[0].error_code, result.partitions[0].error_message

    def configure(self, kind: int, resource: str, name: str, value: str | None) -> int:
        operation = Operation.DELETE if value is None else Operation.SET
        wanted = configuring.AlterConfigsResource(
            kind, resource, [configuring.AlterableConfig(name, int(operation), value)]
        )
        request = configuring.IncrementalAlterConfigsRequest([wanted])
        return cast("int", self._ask(request, 1).responses[0].error_code)

    def unregister(self, broker: int) -> int:
        return cast("int", self._ask(UnregisterBrokerRequest(broker), 0).error_code)

    def delete(self, topic: str) -> None:
        self._client.ask(deleting.DeleteTopicsRequest([deleting.DeleteTopicState(topic)], timeout_ms=20_000), 6)

    def _ask(self, request: Any, version: int) -> Any:
        return self._connection.ask(request, version)


class OurController(ComparedController):
    """Ours, as the port to it answers."""

    def __init__(self) -> None:
        self._controller = make_replicating_controller(1)
        super().__init__("c")

    def log(self) -> Sequence[tuple[int, MetadataRecord]]:
        return list(enumerate(records_in(self._controller.log), 1))

    def register(self, request: BrokerRegistrationRequest) -> int:
        return _code(lambda: self._controller.register_broker(request, 4).value)[0]

    def heartbeat(self, request: BrokerHeartbeatRequest) -> tuple[int, bool, bool]:
        code, answer = _code(lambda: self._controller.broker_heartbeat(request).value)
        return (code, True, False) if answer is None else (0, answer.is_fenced, answer.should_shut_down)

    def alter_partition(self, request: altering.AlterPartitionRequest) -> altering.AlterPartitionResponsePartitionData:
        code, answer = _code(lambda: self._controller.alter_partition(request).value)
        if answer is None:
            return altering.AlterPartitionResponsePartitionData(error_code=code)
        return cast("altering.AlterPartitionResponsePartitionData", answer.topics[0].partitions[0])

    def create(self, topic: str, replicas: list[int]) -> int:
        (result,) = self._controller.create_topics([NewTopic(topic, -1, -1, [(0, replicas)])]).value.result
        return 0 if result.error is None else int(result.error.code)

    def elect(self, kind: ElectionType, topic: str) -> tuple[int, str | None]:
        ((_, error),) = self._controller.elect_leaders(kind, [(topic, [0])]).value[topic]
        return (0, None) if error is None else (int(error.code), error.message)

    def reassign(self, topic: str, replicas: list[int] | None) -> tuple[int, str | None]:
        (error,) = self._controller.alter_reassignments([Reassignment(topic, 0, replicas)], same_factor=False).value
        return _reported(error)

    def configure(self, kind: int, resource: str, name: str, value: str | None) -> int:
        operation = Operation.DELETE if value is None else Operation.SET
        wanted = Alteration(kind, resource, [Change(name, operation, value)])
        (error,) = self._controller.alter_configs([wanted], broker_id=1).value
        return _reported(error)[0]

    def unregister(self, broker: int) -> int:
        return _code(lambda: self._controller.unregister_broker(broker).value)[0]

    def delete(self, topic: str) -> None:
        self._controller.delete_topics([self.image.topics[topic].id])


def _code(ask: Callable[[], Any]) -> tuple[int, Any]:
    """Error code and answer of a request that may fail as a whole."""
    try:
        return 0, ask()
    except KafkaError as error:
        return int(error.code), None


def _reported(error: KafkaError | None) -> tuple[int, str | None]:
    return (0, None) if error is None else (int(error.code), error.given_message)


def comparable(records: Sequence[MetadataRecord], image: MetadataImage) -> list[str]:
    """The records without what is a controller's own choice: ids of topics and epochs of brokers."""
    found = []
    for record in records:
        plain = copy.deepcopy(record)
        if hasattr(plain, "topic_id"):
            topic = image.topic_by_id(plain.topic_id)
            plain.topic_id = topic.name.encode() if topic is not None else b"gone"
        if hasattr(plain, "broker_epoch"):
            plain.broker_epoch = 0
        if hasattr(plain, "features"):
            plain.features = sorted(map(repr, plain.features))
        found.append(repr(plain))
    return found
