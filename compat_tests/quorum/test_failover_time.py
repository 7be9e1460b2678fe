"""How long stock clients with default settings have no record acknowledged when the leader is killed or stopped: one of ours, whom one of Apache
Kafka follows, the reverse, and each after its like, in the same cluster. What is measured is printed; how fast this machine is proves nothing.

Of a kill most is the end of the session, which no broker shortens: so the time from the controllers' choice of the next leader on is printed, too,
until a client that asks that one all the time has a record acknowledged, and until the stock clients have.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from typing import NamedTuple

import pytest
from confluent_kafka import Producer

from compat_tests.conftest import takes_long
from compat_tests.harness.kafka_tools import tool_command
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.member import create, state
from compat_tests.quorum.node import log_bytes
from compat_tests.quorum.three import BROKERS, JAVA, OTHER, OURS, Nodes
from pykbroker.storage.log.fetched import fetched_batches
from pykbroker.tests.kit.running import until_in_thread
from pykbroker.wire.internal.metadata import decode_metadata_record
from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord
from pykbroker.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, decode_records, encode_batch

ROUNDS = int(os.environ.get("QUORUM_ROUNDS", "1"))
_PER_SECOND = 100
_ANY_EPOCH = 2**31 - 1
#: How often a leader to be is asked.
_BETWEEN_S = 0.01
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

    def first_after(self, since: float) -> float:
        """When the first one came from then on."""
        with self._more:
            return min(each for each in self._times if each > since)


class Librdkafka:
    """Its producer with acks=all, its default."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acknowledged = Acknowledged()
        self._producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})  # which is no behaviour
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


class Failover(NamedTuple):
    """The leader that fails, the one that leads after it, and the third broker."""

    leader: int
    after: int
    third: int


#: The brokers that are Apache Kafka's, and what is measured with them, alternately.
CLUSTERS = {
    "one": ((JAVA,), (Failover(JAVA, OURS, OTHER), Failover(OURS, JAVA, OTHER), Failover(OTHER, OURS, JAVA))),
    "two": ((JAVA, OTHER), (Failover(JAVA, OTHER, OURS), Failover(OURS, JAVA, OTHER), Failover(OTHER, OURS, JAVA))),
    "three": (BROKERS, (Failover(JAVA, OURS, OTHER),)),
}


@pytest.fixture(scope="module", params=CLUSTERS)
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Nodes, Sequence[Failover]]]:
    """The nodes, and what fails there."""
    javas, failovers = CLUSTERS[request.param]
    nodes = Nodes(tmp_path_factory.mktemp("nodes"), javas)
    yield nodes, failovers
    nodes.stop()


class Times:
    """What one failover took, in seconds, by what is measured."""

    def __init__(self) -> None:
        self._found: dict[str, list[float]] = {}

    def note(self, what: str, took_s: float) -> None:
        self._found.setdefault(what, []).append(took_s)

    def __str__(self) -> str:
        return "; ".join(
            f"{what} {statistics.median(found):.2f} s ({min(found):.2f} to {max(found):.2f})"
            for what, found in self._found.items()
        )


def lead_again(nodes: Nodes, topic: str, failover: Failover) -> None:
    """Have the preferred leader lead, once all are in sync."""
    until_in_thread(lambda: nodes.has_all(topic))
    request = ElectLeadersRequest(0, [TopicPartitions(topic, [0])], 60_000)
    with closing(Connection(nodes.brokers[failover.third].bootstrap, patience_s=60)) as connection:
        connection.ask(request, 2)
    until_in_thread(lambda: all(state(each.bootstrap, topic)[0] == failover.leader for each in nodes.brokers.values()))


def taken(bootstrap: str, topic: str) -> float:
    """When a broker first acknowledges a record, with acks=all, to a client that asks it all the time."""
    batch = encode_batch([Record(timestamp=int(time.time() * 1000), value=b"x")])
    request = ProduceRequest(
        acks=-1,
        timeout_ms=30_000,
        topic_data=[TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])],
    )
    deadline = time.monotonic() + 60
    with closing(Connection(bootstrap, patience_s=60)) as connection:
        while connection.ask(request, 9).responses[0].partition_responses[0].error_code:  # type: ignore[attr-defined]
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(_BETWEEN_S)
    return time.monotonic()


def chosen(nodes: Nodes, topic: str, leader: int) -> float:
    """When the controller chose the leader, as its metadata log has it, in the time of ``time.monotonic``."""
    with closing(Connection(nodes.brokers[leader].bootstrap, patience_s=60)) as connection:
        (found,) = connection.ask(MetadataRequest([MetadataRequestTopic(name=topic)]), 12).topics  # type: ignore[attr-defined]
    at_ms = [
        header.max_timestamp
        for header, batch in fetched_batches(log_bytes(nodes.controller.data_dir), _ANY_EPOCH, "the metadata")
        if not header.is_control
        for record in decode_records(batch)
        if isinstance(change := decode_metadata_record(record.value or b""), PartitionChangeRecord)
        if (change.topic_id, change.leader) == (found.topic_id, leader)
    ]
    return at_ms[-1] / 1000 - time.time() + time.monotonic()


@pytest.mark.parametrize("ending", ["kill", "end"])
@takes_long
def test_the_time_without_a_record(ending: str, cluster: tuple[Nodes, Sequence[Failover]]) -> None:
    """One topic for each failover, to which both clients produce."""
    nodes, failovers = cluster
    topics = {
        each: create(nodes.brokers[each.third].bootstrap, list(each), min_insync_replicas="2") for each in failovers
    }
    clients = {
        each: (Librdkafka(nodes.bootstrap, topic), Java(nodes.bootstrap, topic)) for each, topic in topics.items()
    }
    times = {each: Times() for each in failovers}
    for _ in range(ROUNDS):
        for failover, topic in topics.items():
            lead_again(nodes, topic, failover)
            for each in clients[failover]:
                each.acknowledged.go_on()
            began = time.monotonic()
            getattr(nodes, ending)(failover.leader)
            first = taken(nodes.brokers[failover.after].bootstrap, topic)
            for each in clients[failover]:
                each.acknowledged.go_on()
                times[failover].note(type(each).__name__, each.acknowledged.longest_gap(began))
            if ending == "kill":
                choice = chosen(nodes, topic, failover.after)
                times[failover].note("chosen", choice - began)
                times[failover].note("from then on: taken", first - choice)
                for each in clients[failover]:
                    times[failover].note(type(each).__name__ + " then", each.acknowledged.first_after(choice) - choice)
            nodes.bring_back(failover.leader)
    for of_failover in clients.values():
        for each in of_failover:
            each.end()
    for failover, found in times.items():
        names = [nodes.brokers[each].name for each in failover]
        print(f"{ending} of {names[0]}, {names[1]} leads after it, third {names[2]}, {ROUNDS} times: {found}")
