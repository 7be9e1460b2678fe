"""What a case is given: a way to set things up and to ask, at one version, of one broker. It keeps what was answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from compat_tests.harness.awaiting import LIMIT_S
from compat_tests.oracle.connection import Closed, Connection
from compat_tests.oracle.normalise import Normaliser
from pykbroker.wire.message import Message
from pykbroker.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

UNKNOWN_MEMBER_ID = 25
START_MS = 1_700_000_000_000
"""Timestamp of the first record of ``records``; each later one is a second younger."""


class NotInRelease(Exception):
    """What is asked is an API that a release does not have."""


class Ask:
    """Asks one broker. Calling it sends a request at the case's version and keeps the normalised answer."""

    def __init__(
        self,
        address: str,
        version: int,
        prefix: str,
        highest: Mapping[int, int] | None = None,
        patience_s: float = LIMIT_S,
    ) -> None:
        """``highest`` is the highest version of each API that the brokers have; without it, they have all. ``until`` asks
        for ``patience_s`` at most.
        """
        self.version = version
        self.prefix = prefix
        self.answers: list[Any] = []
        self.topic_ids: dict[str, bytes] = {}
        self.port = int(address.rsplit(":", 1)[1])
        self._address = address
        self._highest = highest
        self._patience_s = patience_s
        self._connections: list[Connection] = []
        self.connection = self.connect()
        self._names: dict[bytes, str] = {}
        self.normalise = Normaliser(self.port, self._names)

    # ---- asking

    def __call__(self, request: Message, version: int | None = None) -> Any:
        """Sends the request at the case's version (or another), keeps the answer, and returns it as decoded."""
        return self.answered(self.send(request, version))

    def send(self, request: Message, version: int | None = None) -> tuple[Connection, int, int, int]:
        """Sends on a connection of its own, so that requests which wait for each other can be on their way together."""
        version = self._served(request, self.version if version is None else version)
        connection = self.connect()
        return connection, type(request).API_KEY, version, connection.send(request, version)

    def answered(self, sent: tuple[Connection, int, int, int], settle: Callable[[Any], None] = lambda _: None) -> Any:
        """Waits for the answer to what ``send`` sent, and keeps it, without what depends on the moment, which ``settle`` takes out. A
        closed connection is an answer too.
        """
        connection, api_key, version, correlation_id = sent
        try:
            response = connection.receive(api_key, version, correlation_id)
        except Closed:
            self.keep("<connection closed>")
            return None
        finally:
            connection.close()
        settle(response)
        self.keep(response)
        return response

    def quietly(self, request: Message, version: int) -> Any:
        """Asks for the case's own sake; nothing is kept."""
        return self.connection.ask(request, self._served(request, version))

    def _served(self, request: Message, version: int) -> int:
        """The version, or the highest one that these brokers have. Raises NotInRelease."""
        if self._highest is None:
            return version
        highest = self._highest.get(type(request).API_KEY)
        if highest is None:
            raise NotInRelease(type(request).__name__)
        return min(version, highest)

    def until(self, done: Callable[[Any], bool], request: Message, version: int | None = None) -> Any:
        """Asks again until the answer is as wanted, and keeps the last one: Apache Kafka answers a
        change before it can be read."""
        version = self.version if version is None else version
        deadline = time.monotonic() + self._patience_s
        while True:
            response = self.quietly(request, version)
            if done(response) or time.monotonic() > deadline:
                self.keep(response)
                return response
            time.sleep(0.01)

    def keep(self, value: Any) -> None:
        """Adds a value to what the two brokers must agree on."""
        self.answers.append(self.normalise(value))

    def connect(self) -> Connection:
        connection = Connection(self._address)
        self._connections.append(connection)
        return connection

    def reconnect(self) -> None:
        """Goes on after a restart of the broker, once the topics of this case have leaders again."""
        self.close()
        self._connections.clear()
        self.connection = self.connect()
        for topic in self.topic_ids:
            self.learn(topic)

    def close(self) -> None:
        for connection in self._connections:
            connection.close()

    # ---- setting up

    def name(self, what: str) -> str:
        """A name of this case's own, the same on both brokers."""
        return f"{self.prefix}-{what}"

    def topic(self, what: str = "t", partitions: int = 1, **configs: str) -> str:
        """Creates a topic and waits until it is served; returns its name. ``_`` in a setting's name stands for a dot."""
        topic = self.name(what)
        settings = [CreatableTopicConfig(name.replace("_", "."), value) for name, value in configs.items()]
        created = self.quietly(CreateTopicsRequest([CreatableTopic(topic, partitions, 1, [], settings)], 10_000), 7)
        assert created.topics[0].error_code == 0, created
        self.learn(topic)
        return topic

    def learn(self, topic: str) -> bytes:
        """Waits until the topic is served, every partition by its leader, and remembers its id."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            (found,) = self.quietly(MetadataRequest([MetadataRequestTopic(name=topic)], False), 12).topics
            if found.error_code == 0 and self._led(topic, len(found.partitions)):
                break
            assert time.monotonic() < deadline, found
            time.sleep(0.01)
        self.topic_ids[topic] = found.topic_id
        self._names[found.topic_id] = f"<id of {topic}>"
        return found.topic_id

    def _led(self, topic: str, partitions: int) -> bool:
        asked = [ListOffsetsPartition(partition, -1, -1) for partition in range(partitions)]
        (answer,) = self.quietly(ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, asked)]), 7).topics
        return all(partition.error_code == 0 for partition in answer.partitions)

    def wait_for_coordinators(self) -> None:
        """Waits until every partition of the offsets topic has a coordinator (Apache Kafka loads them when first asked)."""
        deadline = time.monotonic() + 30
        groups = [f"waiting-{number}" for number in range(100)]
        while True:
            found = self.quietly(FindCoordinatorRequest("waiting"), 1).error_code
            answers = [self.quietly(HeartbeatRequest(group, 1, "nobody"), 0).error_code for group in groups]
            if found == 0 and set(answers) == {UNKNOWN_MEMBER_ID}:  # a coordinator that loads answers beats with 0
                return
            assert time.monotonic() < deadline, answers
            time.sleep(0.05)

    def producer_id(self) -> int:
        """A new producer's id; waits for the coordinator."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            answer = self.quietly(InitProducerIdRequest(None, 60_000), 4)
            if answer.error_code == 0:
                return answer.producer_id
            assert time.monotonic() < deadline, answer
            time.sleep(0.01)

    def produce(self, topic: str, batch: bytes, partition: int = 0) -> None:
        """Appends a batch; waits for a leader that is not ready yet."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(partition, batch)])]
            answer = self.quietly(ProduceRequest(None, -1, 10_000, data), 9).responses[0].partition_responses[0]
            if answer.error_code == 0:
                return
            assert time.monotonic() < deadline, answer
            time.sleep(0.01)

    def fill(self, topic: str, count: int = 10, partition: int = 0, per_batch: int = 5, **options: Any) -> None:
        """Appends records in batches of ``per_batch``; each is a second younger than the one before."""
        for first in range(0, count, per_batch):
            self.produce(topic, encode_batch(records(first, min(per_batch, count - first)), **options), partition)

    def reference(self, topic: str, ids_from: int, field: str = "topic") -> dict[str, Any]:
        """How this version names a topic: by name, or by id from version ``ids_from``."""
        if self.version >= ids_from:
            return {"topic_id": self.topic_ids.get(topic, bytes(range(16)))}
        return {field: topic}


def records(first: int, count: int) -> list[Record]:
    """Records key N and value N, with headers on every third, a second apart."""
    return [
        Record(
            timestamp=START_MS + 1000 * n,
            key=b"key %d" % n,
            value=b"value %d" % n,
            headers=[("n", b"%d" % n)] if n % 3 == 0 else (),
        )
        for n in range(first, first + count)
    ]
