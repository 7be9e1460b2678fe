"""Three brokers, one of Apache Kafka and two of ours, with a controller of Apache Kafka: each is killed, stopped and paused in turn, and the controller, too,
while records are produced with acks=all and in transactions. Nothing that was acknowledged is lost, and transactions are all or none.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from compat_tests.conftest import takes_long
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.clients import PATIENCE, PATIENCE_OF_READERS, Clients, Ledger
from compat_tests.quorum.member import create, log_of
from compat_tests.quorum.test_coordinators import GROUP, TRANSACTION, key_at, values
from compat_tests.quorum.three import BROKERS, JAVA, OTHER, OURS, Nodes
from pykbroker.tests.kit.running import returns, until_in_thread
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest

#: What happens to each node in turn; with 3 each is killed, stopped and paused.
ROUNDS = int(os.environ.get("QUORUM_ROUNDS", "1"))


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path)
    yield nodes
    nodes.stop()


@pytest.fixture(params=[(JAVA,), BROKERS], ids=["mixed", "java"])
def of_either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Nodes]:
    """The cluster, and one of Apache Kafka's brokers alone."""
    nodes = Nodes(tmp_path, request.param)
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


def test_what_is_acknowledged_stays(nodes: Nodes) -> None:
    topic = create(nodes.brokers[JAVA].bootstrap, sorted(BROKERS), min_insync_replicas="2")
    until_in_thread(lambda: nodes.has_all(topic))
    ledger = Ledger(nodes.bootstrap, topic)
    client = Clients(ledger.step)
    times = trouble(nodes, [topic], client.goes_on)
    client.end()
    until_in_thread(lambda: nodes.has_all(topic))
    count = ledger.check()
    until_in_thread(lambda: len({log_of(each, topic) for each in nodes.brokers.values()}) == 1)
    print(f"{times} times, {count} records, three logs alike, ten records in at most {client.longest_s:.1f} s")


@takes_long
def test_transactions_are_all_or_none(of_either: Nodes) -> None:
    """Each writes its number to two topics and as an offset of a group, by which it is known whether it was committed."""
    nodes = of_either
    first = nodes.brokers[JAVA].bootstrap
    topics = [create(first, sorted(BROKERS), min_insync_replicas="2") for _ in range(2)]
    transactions = Transactions(nodes.bootstrap, topics)
    client = Clients(transactions.step)
    client.goes_on()
    times = trouble(nodes, [*topics, "__transaction_state", "__consumer_offsets"], client.goes_on)
    client.end()
    found = values(nodes.bootstrap, topics, "read_committed")
    assert found == {topic: [b"%d" % each for each in range(client.count)] for topic in topics}
    print(f"{times} times, {client.count} transactions, one in at most {client.longest_s:.1f} s")
    print(f"{transactions.stood} calls of librdkafka did not return, {len(transactions.troubles)} failed")


@takes_long
def test_librdkafka_waits_for_a_coordinator_that_is_gone(of_either: Nodes) -> None:
    """Whoever it was: once the group's coordinator is fenced, and the metadata name it no more, send_offsets_to_transaction does not return
    (librdkafka 2.16, its issues 5456 and 5511), and ``Transactions`` goes on with another producer.
    """
    nodes = of_either
    everywhere = {node: each.bootstrap for node, each in nodes.brokers.items()}
    topic = create(everywhere[JAVA], sorted(BROKERS), min_insync_replicas="2")
    group = key_at(everywhere[JAVA], GROUP, OTHER)
    transactional_id = key_at(everywhere[JAVA], TRANSACTION, OURS)
    for each in (topic, "__transaction_state", "__consumer_offsets"):
        until_in_thread(lambda each=each: nodes.has_all(each))
    settings = {"bootstrap.servers": nodes.bootstrap, **PATIENCE, "topic.metadata.refresh.interval.ms": 1000}
    producer = Producer({**settings, "transactional.id": transactional_id})
    consumer = Consumer({"bootstrap.servers": nodes.bootstrap, "group.id": group})
    members = consumer.consumer_group_metadata()
    producer.init_transactions(60)

    def send(limit_s: float) -> None:
        producer.begin_transaction()
        producer.produce(topic, b"x", partition=0)
        producer.send_offsets_to_transaction([TopicPartition(topic, 0, 1)], members, limit_s)

    def has_markers() -> bool:
        with closing(Connection(everywhere[OURS])) as connection:
            (found,) = connection.ask(DescribeTransactionsRequest([transactional_id]), 0).transaction_states  # type: ignore[attr-defined]
        return bool(found.transaction_state == "CompleteCommit")

    send(60)
    producer.commit_transaction(60)
    until_in_thread(has_markers)
    nodes.pause(OTHER)
    until_in_thread(lambda: nodes.has_all("__consumer_offsets", but=OTHER))
    until_in_thread(lambda: OTHER not in producer.list_topics(timeout=60).brokers)
    assert not returns(lambda: send(5), 30)


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
        #: How many calls have not returned within twice their limit.
        self.stood = 0

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
        members = self._group.consumer_group_metadata()
        if not returns(lambda: producer.send_offsets_to_transaction([offset], members, 10), 20):
            self._producer = None
            self.stood += 1
            return
        producer.commit_transaction(60)

    def _is_committed(self) -> bool:
        where = [TopicPartition(self._topics[0], 0)]
        while True:
            try:
                (found,) = self._group.committed(where, 60)
            except KafkaException:
                continue
            return bool(found.offset > self._number)
