"""How long stock clients with default settings have no record acknowledged when the leader is killed or stopped: one of ours, whom one of Apache
Kafka follows, and the reverse, in the same cluster. What is measured is printed; how fast this machine is proves nothing.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from typing import NamedTuple

import pytest
from confluent_kafka import Producer

from compat_tests.conftest import takes_long
from compat_tests.harness.kafka_tools import tool_command
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.member import create, state
from compat_tests.quorum.three import BROKERS, JAVA, OTHER, OURS, Nodes
from pykbroker.tests.kit.running import until_in_thread
from pykbroker.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions

ROUNDS = int(os.environ.get("QUORUM_ROUNDS", "1"))
_PER_SECOND = 100
#: How many records are acknowledged before and after a failure.
_AROUND = 20


class Acknowledged:
    """The times at which a client's records were acknowledged."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._more = threading.Condition()

    def note(self) -> None:
        with self._more:
            self._times.append(time.monotonic())
            self._more.notify_all()

    def go_on(self) -> None:
        """Wait for some more."""
        with self._more:
            wanted = len(self._times) + _AROUND
            assert self._more.wait_for(lambda: len(self._times) >= wanted, 120)

    def longest_gap(self, since: float) -> float:
        """The longest time without one from then on."""
        with self._more:
            times = [since, *(each for each in self._times if each > since)]
        return max(after - before for before, after in pairwise(times))


class Librdkafka:
    """Its producer with acks=all, its default."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acknowledged = Acknowledged()
        self._producer = Producer({"bootstrap.servers": bootstrap})
        self._topic = topic
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ends.wait(1 / _PER_SECOND):
            self._producer.produce(self._topic, b"x", partition=0, on_delivery=self._delivered)
            self._producer.poll(0)

    def _delivered(self, error: object, _: object) -> None:
        if error is None:
            self.acknowledged.note()

    def end(self) -> None:
        self._ends.set()
        self._thread.join()


class Java:
    """VerifiableProducer of Apache Kafka with acks=all, its default."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acknowledged = Acknowledged()
        arguments = ["--bootstrap-server", bootstrap, "--topic", topic, "--throughput", str(_PER_SECOND)]
        self._process = subprocess.Popen(
            [*tool_command("verifiable-producer"), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if json.loads(line)["name"] == "producer_send_success":
                self.acknowledged.note()

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._thread.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture(params=["librdkafka", "java"])
def client(request: pytest.FixtureRequest) -> type[Librdkafka | Java]:
    return {"librdkafka": Librdkafka, "java": Java}[request.param]


@pytest.fixture(scope="module", params=[(JAVA,), BROKERS], ids=["mixed", "java"])
def nodes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """The cluster, and one of Apache Kafka's brokers alone."""
    nodes = Nodes(tmp_path_factory.mktemp("nodes"), request.param)
    yield nodes
    nodes.stop()


class Failover(NamedTuple):
    """The leader that fails, the one that leads after it, and the third broker."""

    leader: int
    after: int
    third: int


FAILOVERS = Failover(JAVA, OURS, OTHER), Failover(OURS, JAVA, OTHER), Failover(OTHER, OURS, JAVA)


def lead_again(nodes: Nodes, topic: str, failover: Failover) -> None:
    """Have the preferred leader lead, once all are in sync."""
    until_in_thread(lambda: nodes.has_all(topic))
    request = ElectLeadersRequest(0, [TopicPartitions(topic, [0])], 60_000)
    with closing(Connection(nodes.brokers[failover.third].bootstrap, patience_s=60)) as connection:
        connection.ask(request, 2)
    until_in_thread(lambda: all(state(each.bootstrap, topic)[0] == failover.leader for each in nodes.brokers.values()))


@pytest.mark.parametrize("ending", ["kill", "end"])
@takes_long
def test_the_time_without_a_record(ending: str, client: type[Librdkafka | Java], nodes: Nodes) -> None:
    """One topic for each failover, alternately."""
    gaps: dict[Failover, list[float]] = {each: [] for each in FAILOVERS}
    topics = {
        each: create(nodes.brokers[each.third].bootstrap, list(each), min_insync_replicas="2") for each in FAILOVERS
    }
    clients = {each: client(nodes.bootstrap, topic) for each, topic in topics.items()}
    for _ in range(ROUNDS):
        for failover, topic in topics.items():
            acknowledged = clients[failover].acknowledged
            third = nodes.brokers[failover.third].bootstrap
            lead_again(nodes, topic, failover)
            acknowledged.go_on()
            began = time.monotonic()
            getattr(nodes, ending)(failover.leader)
            until_in_thread(
                lambda third=third, topic=topic, failover=failover: state(third, topic)[0] == failover.after
            )
            acknowledged.go_on()
            gaps[failover].append(acknowledged.longest_gap(began))
            nodes.bring_back(failover.leader)
    for each in clients.values():
        each.end()
    for failover, found in gaps.items():
        names = [nodes.brokers[each].name for each in failover]
        print(
            f"{client.__name__}, {ending} of {names[0]}, {names[1]} leads after it: {ROUNDS} times, "
            f"median {statistics.median(found):.2f} s, {min(found):.2f} to {max(found):.2f} s"
        )
