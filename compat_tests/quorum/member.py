"""A pykbroker process as one broker of a cluster whose controllers are Apache Kafka's."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from confluent_kafka import Consumer, Producer

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import NO_RETENTION_MS, BrokerProcess
from compat_tests.oracle.connection import Connection
from pykbroker.config.broker import BrokerConfig
from pykbroker.container.formatting import format_new
from pykbroker.tests.kit.ports import free_ports
from pykbroker.tests.kit.running import until_in_thread
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic


class Member(Pykbroker):
    """``pykbroker serve --config server.properties`` with the settings that a Java broker of the cluster has. ``first`` is a started node of
    Apache Kafka, which is its controller.
    """

    def __init__(
        self,
        folder: Path,
        first: ApacheKafka,
        node_id: int,
        settings: Mapping[str, str] | None = None,
        *,
        arguments: Sequence[str] = (),
    ) -> None:
        """``arguments`` are further ones of the command line."""
        super().__init__(folder, dict(settings or {}))
        self._arguments = arguments
        self.node_id = node_id
        self.properties = folder / "server.properties"
        self._first = first

    def start(self) -> None:
        if not self.properties.exists():
            self.prepare()
        super().start()

    def prepare(self, cluster_id: str | None = None) -> None:
        """Write the settings, and format the log directory, with the id of the cluster or another one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = self.port or free_ports(1)[0]
        self._write_properties(cluster_id or cluster_id_of(self._first))

    def command(self) -> list[str]:
        return [sys.executable, "-m", "pykbroker", "serve", "--config", str(self.properties), *self._arguments]

    def _write_properties(self, cluster_id: str) -> None:
        settings = {
            "process.roles": "broker",
            "node.id": str(self.node_id),
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": self._first.controller,
            "listeners": f"PLAINTEXT://{self.bootstrap}",
            "log.dirs": str(self.data_dir),
            "offsets.topic.num.partitions": "5",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "5",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": "5",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "broker.session.timeout.ms": "3000",
            "broker.heartbeat.interval.ms": "500",
            "log.initial.task.delay.ms": NO_RETENTION_MS,
            **self.settings,
        }
        self.properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        format_new(BrokerConfig(settings), cluster_id)


def create(bootstrap: str, replicas: Sequence[int], *, prefix: str = "t-", **configs: str) -> str:
    """A topic of one partition with these replicas, once the controller finds their brokers unfenced; its name."""
    topic = f"{prefix}{uuid.uuid4()}"
    settings = [CreatableTopicConfig(name.replace("_", "."), value) for name, value in configs.items()]
    assignment = CreatableReplicaAssignment(0, list(replicas))
    request = CreateTopicsRequest([CreatableTopic(topic, -1, -1, [assignment], settings)], 60_000)

    def is_created() -> bool:
        with closing(Connection(bootstrap, patience_s=60)) as connection:
            (answer,) = connection.ask(request, 7).topics  # type: ignore[attr-defined]
        assert answer.error_code in (ErrorCode.NONE, ErrorCode.INVALID_REPLICA_ASSIGNMENT), answer
        return bool(answer.error_code == ErrorCode.NONE)

    until_in_thread(is_created)
    return topic


def state(bootstrap: str, topic: str) -> tuple[int, set[int]]:
    """The leader and the ISR of a topic's partition, as a broker sees them."""
    with closing(Connection(bootstrap, patience_s=60)) as connection:
        (found,) = connection.ask(MetadataRequest([MetadataRequestTopic(name=topic)]), 12).topics  # type: ignore[attr-defined]
    if not found.partitions:
        return -1, set()
    return found.partitions[0].leader_id, set(found.partitions[0].isr_nodes)


def log_of(node: BrokerProcess, topic: str) -> bytes:
    """The bytes of a replica's log."""
    return b"".join(each.read_bytes() for each in sorted((node.data_dir / f"{topic}-0").glob("*.log")))


def produce(bootstrap: str, topic: str, values: Sequence[bytes], **settings: str) -> None:
    """By librdkafka, with acks=all."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, **{name.replace("_", "."): value for name, value in settings.items()}}
    )
    refused: list[object] = []
    for value in values:
        producer.produce(
            topic, value, partition=0, on_delivery=lambda error, _: refused.append(error) if error else None
        )
    assert producer.flush(60) == 0
    assert not refused


def consume(bootstrap: str, topic: str, count: int) -> list[bytes]:
    """The first ``count`` values, by librdkafka in a group."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": f"g-{uuid.uuid4()}", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    found: list[bytes] = []

    def has_all() -> bool:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            found.append(message.value())
        return len(found) >= count

    until_in_thread(has_all)
    consumer.close()
    return found


def cluster_id_of(node: ApacheKafka) -> str:
    """The id of the cluster that a started node is of."""
    properties = (node.data_dir / "meta.properties").read_text()
    return next(line.partition("=")[2] for line in properties.splitlines() if line.startswith("cluster.id="))
