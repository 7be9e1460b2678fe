"""Three brokers, one of Apache Kafka and two of ours, with a controller of Apache Kafka: each is killed, stopped and paused in turn, and the controller, too,
while records are produced with acks=all and in transactions. Nothing that was acknowledged is lost, and transactions are all or none.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from compat_tests.harness.apache import ApacheBroker, ApacheController
from compat_tests.harness.java import QUICK
from compat_tests.harness.process import BrokerProcess, stop_turns
from compat_tests.quorum.member import Member, create, log_of, state
from compat_tests.quorum.test_coordinators import values
from pykbroker.tests.kit.ports import free_ports
from pykbroker.tests.kit.running import until_in_thread

CONTROLLER, JAVA, OURS, OTHER = 1, 2, 3, 4
BROKERS = {JAVA, OURS, OTHER}
#: What happens to each node in turn; with 3 each is killed, stopped and paused.
ROUNDS = int(os.environ.get("QUORUM_ROUNDS", "1"))
#: For how long librdkafka waits for a node that is paused: by default as long as these tests do.
PATIENCE = {"socket.timeout.ms": 5000, "request.timeout.ms": 5000}
PATIENCE_OF_READERS = {"socket.timeout.ms": 5000}
#: A guard: markers wait for a paused leader as long as replica.socket.timeout.ms and request.timeout.ms say, 30 s.
_LIMIT_S = 240
_COPIES = {
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "3",
    "replica.lag.time.max.ms": "3000",
}


class Nodes:
    """The nodes by id, and what may happen to them."""

    def __init__(self, folder: Path) -> None:
        (port,) = free_ports(1)
        settings = {"broker.session.timeout.ms": "3000"}
        self.controller = ApacheController(
            folder / "controller", settings, node_id=CONTROLLER, voters={CONTROLLER: port}
        )
        self.controller.start()
        java = ApacheBroker(folder / "java", self.controller, JAVA, _COPIES)
        java.flags = [*QUICK, "-Xmx300m"]
        voters = {"controller.quorum.bootstrap.servers": "", "controller.quorum.voters": f"1@127.0.0.1:{port}"}
        self.brokers: dict[int, BrokerProcess] = {JAVA: java}
        for node, more in ((OURS, {}), (OTHER, voters)):
            self.brokers[node] = Member(folder / f"ours{node}", self.controller, node, _COPIES | more)
        for broker in self.brokers.values():
            broker.start()

    @property
    def bootstrap(self) -> str:
        return ",".join(each.bootstrap for each in self.brokers.values())

    def stop(self) -> None:
        for broker in self.brokers.values():
            broker.kill()
        self.controller.kill()

    def kill(self, node: int) -> None:
        self.brokers[node].kill()

    def end(self, node: int) -> None:
        self.brokers[node].stop()

    def pause(self, node: int) -> None:
        stop_turns(self.brokers[node].pid)

    def bring_back(self, node: int) -> None:
        broker = self.brokers[node]
        if broker.process is None:
            broker.start()
        else:
            os.kill(broker.pid, signal.SIGCONT)

    def has_all(self, topic: str, but: int | None = None) -> bool:
        """Whether all replicas of a topic are in sync, or all but one, as each broker that runs sees it."""
        for node, broker in self.brokers.items():
            if node != but:
                try:
                    leader, isr = state(broker.bootstrap, topic)
                except OSError:
                    return False
                if leader < 0 or isr != BROKERS - {but}:
                    return False
        return True


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path)
    yield nodes
    nodes.stop()


def trouble(nodes: Nodes, topics: list[str], goes_on: Callable[[], None]) -> int:
    """What happens to each node in turn; the number of times. ``goes_on`` returns when the clients have got further."""
    times = 0
    troubles = (nodes.kill, nodes.end, nodes.pause)
    for number in range(ROUNDS):
        for place, node in enumerate(sorted(BROKERS)):
            troubles[(place + number) % len(troubles)](node)
            for topic in topics:
                until_in_thread(lambda topic=topic, node=node: nodes.has_all(topic, but=node))
            goes_on()
            nodes.bring_back(node)
            for topic in topics:
                until_in_thread(lambda topic=topic: nodes.has_all(topic))
            goes_on()
            times += 1
        nodes.controller.kill()
        goes_on()
        nodes.controller.start()
        times += 1
    return times


class Clients:
    """A client's thread, which runs until it is told to end."""

    def __init__(self, step: Callable[[], None]) -> None:
        self.count = 0
        #: The longest time that a step took.
        self.longest_s = 0.0
        self.error: Exception | None = None
        self._ends = threading.Event()
        self._further = threading.Condition()
        self._step = step
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._ends.is_set():
                began = time.monotonic()
                self._step()
                self._note(None, time.monotonic() - began)
        except Exception as error:  # noqa: BLE001 - the test's own thread looks at it
            self._note(error, 0.0)

    def _note(self, error: Exception | None, took_s: float) -> None:
        with self._further:
            self.error = error
            self.count += error is None
            self.longest_s = max(self.longest_s, took_s)
            self._further.notify_all()

    def goes_on(self) -> None:
        """Wait until it has done three steps more."""
        with self._further:
            before = self.count
            assert self._further.wait_for(lambda: self.count > before + 2 or self.error is not None, _LIMIT_S)
        assert self.error is None, self.error

    def end(self) -> None:
        self._ends.set()
        self._thread.join()
        assert self.error is None, self.error


def test_what_is_acknowledged_stays(nodes: Nodes) -> None:
    topic = create(nodes.brokers[JAVA].bootstrap, sorted(BROKERS), min_insync_replicas="2")
    until_in_thread(lambda: nodes.has_all(topic))
    producer = Producer(
        {"bootstrap.servers": nodes.bootstrap, "enable.idempotence": True, "delivery.timeout.ms": 120_000, **PATIENCE}
    )
    acknowledged: list[bytes] = []
    refused: list[KafkaError] = []

    def settle(error: KafkaError | None, message: object) -> None:
        refused.append(error) if error is not None else acknowledged.append(message.value())  # type: ignore[attr-defined]

    def step() -> None:
        for _ in range(10):
            producer.produce(topic, uuid.uuid4().bytes, partition=0, on_delivery=settle)
        producer.flush(120)

    client = Clients(step)
    times = trouble(nodes, [topic], client.goes_on)
    client.end()
    assert not refused
    until_in_thread(lambda: nodes.has_all(topic))
    found = values(nodes.bootstrap, [topic], "read_uncommitted")[topic]
    assert found == acknowledged
    until_in_thread(lambda: len({log_of(each, topic) for each in nodes.brokers.values()}) == 1)
    print(
        f"{times} times, {len(acknowledged)} records, three logs alike, ten records in at most {client.longest_s:.1f} s"
    )


def test_transactions_are_all_or_none(nodes: Nodes) -> None:
    """Each writes its number to two topics and as an offset of a group, by which it is known whether it was committed."""
    first = nodes.brokers[JAVA].bootstrap
    topics = [create(first, sorted(BROKERS), min_insync_replicas="2") for _ in range(2)]
    client = Clients(Transactions(nodes.bootstrap, topics).step)
    client.goes_on()
    times = trouble(nodes, [*topics, "__transaction_state", "__consumer_offsets"], client.goes_on)
    client.end()
    found = values(nodes.bootstrap, topics, "read_committed")
    assert found == {topic: [b"%d" % each for each in range(client.count)] for topic in topics}
    print(f"{times} times, {client.count} transactions, one in at most {client.longest_s:.1f} s")


class Transactions:
    """One transactional producer after the other, of one id."""

    def __init__(self, bootstrap: str, topics: list[str]) -> None:
        self._settings: Mapping[str, object] = {
            "bootstrap.servers": bootstrap,
            "transactional.id": f"t-{uuid.uuid4()}",
            "transaction.timeout.ms": 20_000,
            **PATIENCE,
        }
        self._topics = topics
        self._group = Consumer({"bootstrap.servers": bootstrap, "group.id": f"g-{uuid.uuid4()}", **PATIENCE_OF_READERS})
        self._producer: Producer | None = None
        self._number = 0
        self.troubles: list[KafkaException] = []

    def step(self) -> None:
        """One transaction, committed once."""
        while not self._is_committed():
            try:
                self._attempt()
            except KafkaException as error:
                self._producer = None  # the next one aborts or completes what this one left
                self.troubles.append(error)
        self._number += 1

    def _attempt(self) -> None:
        if self._producer is None:
            producer = Producer(dict(self._settings))
            producer.init_transactions(60)
            self._producer = producer
            return  # the former one's transaction is over, one way or the other
        producer = self._producer
        producer.begin_transaction()
        for topic in self._topics:
            producer.produce(topic, b"%d" % self._number, partition=0)
        offset = TopicPartition(self._topics[0], 0, self._number + 1)
        producer.send_offsets_to_transaction([offset], self._group.consumer_group_metadata(), 60)
        producer.commit_transaction(60)

    def _is_committed(self) -> bool:
        where = [TopicPartition(self._topics[0], 0)]
        while True:
            try:
                (found,) = self._group.committed(where, 60)
            except KafkaException:
                continue
            return bool(found.offset > self._number)
