"""Two brokers of Apache Kafka 4.4.0, to which things happen by real means, and two of ours, to which chaos has them happen."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from compat_tests.harness.apache import ApacheBroker, ApacheKafka
from compat_tests.harness.process import stop_turns
from compat_tests.oracle.connection import Closed, Connection
from compat_tests.testing_faults.cut_off import CutOff
from pykbroker.faults.chaos_tape import ChaosTape, ClusterOutcome, Decision, RequestOutcome
from pykbroker.faults.fault import Fault
from pykbroker.testing import Kafka
from pykbroker.tests.steered.test_control import tell_blocking
from pykbroker.wire.apis import APIS
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.message import Message
from pykbroker.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from pykbroker.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from pykbroker.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pykbroker.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

#: The id of a topic that is not there.
NO_ID: Final = bytes(16)
#: The client ids of raw requests, and of the stock client beside them.
RAW: Final = "raw"
STOCK: Final = "stock"
SETTINGS: Final = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "2",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "300",
    "group.min.session.timeout.ms": "500",
    "group.initial.rebalance.delay.ms": "0",
}
#: What Apache Kafka does by itself, and ours when chaos says so.
ROUNDS: Final = {
    "log.retention.check.interval.ms": "300",
    "log.initial.task.delay.ms": "300",
    "offsets.retention.check.interval.ms": "300",
}
#: Broker 2 alone closes idle connections, and after so many milliseconds.
IDLE_MS: Final = 2500
_LIMIT_S: Final = 90


def wait_until(condition: Callable[[], Any], what: str) -> Any:
    """What the condition gives as soon as it is true."""
    ends = time.monotonic() + _LIMIT_S
    while True:
        try:
            found = condition()
        except (OSError, Closed):
            found = None
        if found:
            return found
        assert time.monotonic() < ends, what
        time.sleep(0.02)


class Side:
    """Two brokers. What happens to broker 2 has the name that the catalogue has for it."""

    #: ``host:port`` of each broker.
    addresses: dict[int, str]

    def __init__(self) -> None:
        self._connections: list[Connection] = []

    @property
    def bootstrap(self) -> str:
        return ",".join(self.addresses.values())

    def connect(self, broker: int = 2) -> Connection:
        """A connection for raw requests, until the test ends."""
        self._connections.append(Connection(self.addresses[broker], RAW))
        return self._connections[-1]

    def disconnect(self) -> None:
        """End the connections."""
        while self._connections:
            self._connections.pop().close()

    def once(self, request: Message, version: int, broker: int = 1) -> Any:
        """Ask on a connection of its own, by another client."""
        connection = Connection(self.addresses[broker], "aside")
        try:
            return connection.ask(request, version)
        finally:
            connection.close()

    def topic(self, name: str, *replicas: int, **settings: str) -> None:
        """A topic of one partition, led by the first replica, which all brokers know, as they know of each other: a broker that has
        just come back may be fenced.
        """
        for broker in self.addresses:
            wait_until(
                lambda broker=broker: len(self.once(MetadataRequest([]), 12, broker).brokers) == len(self.addresses),
                "they do not meet",
            )
        configs = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in settings.items()]
        made = CreatableTopic(name, -1, -1, [CreatableReplicaAssignment(0, list(replicas))], configs)
        answer = self.once(CreateTopicsRequest([made], 10_000), 7).topics[0]
        assert answer.error_code == 0, answer
        for broker in self.addresses:
            wait_until(lambda broker=broker: self.leader(name, broker)[0] == replicas[0], f"{name} is not known")
        wait_until(lambda: self.leads(replicas[0], name), f"{name} is not led")

    def leads(self, broker: int, topic: str) -> bool:
        """Whether a broker answers for a partition. Apache Kafka's metadata name a leader a moment before it leads, and after it has."""
        return self.end_of(topic, broker)[0] == "NONE"

    def end_of(self, topic: str, broker: int = 2, which: int = -1) -> tuple[str, int]:
        """The error and the offset that a broker answers, by default of the end."""
        asked = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, [ListOffsetsPartition(0, -1, which)])])
        found = self.once(asked, 7, broker).topics[0].partitions[0]
        return ErrorCode(found.error_code).name, found.offset

    def leader(self, topic: str, broker: int = 1) -> tuple[int, int]:
        """The leader and its epoch, as a broker says; both -1 for an unknown topic."""
        (found,) = self.once(MetadataRequest([MetadataRequestTopic(name=topic)], False), 12, broker).topics
        if found.error_code:
            return -1, -1
        return found.partitions[0].leader_id, found.partitions[0].leader_epoch

    def topic_id(self, topic: str, broker: int = 2) -> bytes:
        """Its id, as a broker knows it."""
        found: bytes = (
            self.once(MetadataRequest([MetadataRequestTopic(name=topic)], False), 12, broker).topics[0].topic_id
        )
        return found


class Ours(Side):
    """Brokers of ours, to which happens what is on a tape of one kind."""

    def __init__(self, brokers: int = 2, **more: str) -> None:
        super().__init__()
        self.kafka = Kafka({**SETTINGS, **more}, brokers=brokers)
        self.kafka.start()
        self.addresses = dict(enumerate(self.kafka.bootstrap_servers.split(","), 1))

    def close(self) -> None:
        self.kafka.stop()

    @contextmanager
    def befalls(self, *decisions: Decision) -> Iterator[None]:
        """Let these things befall, from now on until the end."""
        self._tell("beginChaos", tape=ChaosTape("0", decisions).lines())
        try:
            yield
        finally:
            self._tell("endChaos")

    def _tell(self, command: str, **more: Any) -> None:
        directory = self.kafka.node.directory
        answer = tell_blocking(directory, json.dumps({"command": command, **more}).encode())
        assert "error" not in answer, answer

    @contextmanager
    def request(self, kind: str, api: int) -> Iterator[None]:
        """A kind befalls the next request of an API, of raw requests and of the stock client."""
        fault = {
            "slow request": Fault(delay=400),
            "slow answer": Fault(delay=400, after=True),
            "held up": Fault(delay=1000),
            "throttled": Fault(throttle=500),
            "short fetch": Fault("Fetch", short=True),
            "connection lost with the request": Fault(close=True),
            "connection lost with the answer": Fault(close=True, after=True),
            "connection closed behind the answer": Fault(truncate=2**31 - 1),
            "old metadata": Fault("Metadata", stale=True, delay=400),
        }[kind]
        with self.befalls(*(RequestOutcome(client, APIS[api].name, 1, kind, fault) for client in (RAW, STOCK))):
            yield

    @contextmanager
    def held(self, api: str) -> Iterator[None]:
        """Requests of an API by the stock client wait until the end."""
        with self.kafka.faults.add(api, client=STOCK, hold=True):
            yield

    def move(self, kind: str, topic: str, to: int) -> None:
        with self.befalls(ClusterOutcome(0, kind, to, topic, 0)):
            wait_until(lambda: self.leader(topic)[0] == to, f"{topic} is not led by {to}")

    @contextmanager
    def cut_off(self, kind: str) -> Iterator[None]:
        """Broker 2 gets nothing from broker 1 for a while."""
        with self.lasting(ClusterOutcome(0, kind, 2, down_ms=1500), self.apart):
            yield

    def apart(self) -> list[int]:
        """The brokers that are cut off."""
        peers = self.kafka.node.cluster.peers
        assert peers is not None
        return peers.apart

    def silent(self, kind: str, ms: int) -> None:
        """Nothing of raw requests comes for so long; who asks then waits."""
        with self.lasting(ClusterOutcome(0, kind, 1, down_ms=ms, client=RAW), lambda: self.kafka.node.faults.silent):
            pass

    @contextmanager
    def lasting(self, outcome: ClusterOutcome, is_seen: Callable[[], Any]) -> Iterator[None]:
        """What lasts for its time and then is over has begun; once more where this machine stood still for as long."""
        for _ in range(5):
            with self.befalls(outcome):
                ends = time.monotonic() + outcome.down_ms / 1000
                while not is_seen() and time.monotonic() < ends:
                    time.sleep(0.02)
                if is_seen():
                    yield
                    return
        raise AssertionError(f"{outcome.outcome}: it never begins")

    @contextmanager
    def rounds(self, kind: str) -> Iterator[None]:
        """A round of what is done from time to time, as often as the time comes on."""
        with self.befalls(*(ClusterOutcome(at_ms, kind, 1) for at_ms in range(0, 9_000, 300))):
            yield

    def make_again(self, kind: str, topic: str) -> None:
        before = self.topic_id(topic)
        with self.befalls(ClusterOutcome(0, kind, 2, topic, 0)):
            wait_until(lambda: self.topic_id(topic) not in (before, NO_ID), "it is not made again")

    @contextmanager
    def down(self, kind: str) -> Iterator[None]:
        """Broker 2 is down, and comes back within seconds."""
        with self.befalls(ClusterOutcome(0, kind, 2, down_ms=1500)):
            yield
            wait_until(lambda: self.once(MetadataRequest([]), 12, 2), "broker 2 is not back")


class Apache(Side):
    """Brokers of Apache Kafka; the controller is broker 1's process."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        # Broker 2 is not lost because it, or this machine, stands still for a while; one that was killed is after this time.
        self.first = ApacheKafka(folder / "1", {**SETTINGS, **ROUNDS, "broker.session.timeout.ms": "6000"})
        self.second = ApacheBroker(
            folder / "2", self.first, 2, {**SETTINGS, **ROUNDS, "connections.max.idle.ms": str(IDLE_MS)}
        )
        for each in (self.first, self.second):
            each.start()
        self.addresses = {1: self.first.bootstrap, 2: self.second.bootstrap}
        wait_until(lambda: len(self.once(MetadataRequest([]), 12).brokers) == 2, "the brokers do not meet")

    def close(self) -> None:
        for each in (self.second, self.first):
            each.kill()

    @contextmanager
    def request(self, kind: str, api: int) -> Iterator[None]:
        """What befalls whoever asks broker 2 meanwhile."""
        if kind in ("slow request", "held up", "old metadata"):
            with self._frozen():
                yield
        elif kind in ("slow answer", "connection lost with the answer"):
            with self._cut_off(0.4 if kind == "slow answer" else None):
                yield
        elif kind == "connection lost with the request":
            with self._frozen(dies=True):
                yield
        elif kind == "throttled":
            self._limit(1000)
            try:
                yield
            finally:
                self._limit(None)
        else:
            yield  # by settings of the broker or the topic

    @contextmanager
    def _frozen(self, *, dies: bool = False) -> Iterator[None]:
        """The process of broker 2 gets no turn for a while, and then goes on, or ends and is started again."""
        stop_turns(self.second.pid)
        end = self.second.kill if dies else lambda: os.kill(self.second.pid, signal.SIGCONT)
        timer = threading.Timer(0.8, end)
        timer.start()
        try:
            yield
        finally:
            timer.join()
            if dies:
                self.second.start()

    @contextmanager
    def held(self, api: str) -> Iterator[None]:
        """The process of broker 2 gets no turn until the end."""
        del api
        stop_turns(self.second.pid)
        try:
            yield
        finally:
            os.kill(self.second.pid, signal.SIGCONT)

    @contextmanager
    def _cut_off(self, holds_s: float | None) -> Iterator[None]:
        """A network to broker 2 that holds the next answer for so long, or loses it with its connection."""
        with closing(CutOff(self.addresses[2], holds_s)) as between:
            self.addresses[2], direct = between.address, self.addresses[2]
            try:
                yield
            finally:
                self.addresses[2] = direct

    def _limit(self, rate: int | None) -> None:
        what = [OpData(f"{role}_byte_rate", float(rate or 0), rate is None) for role in ("producer", "consumer")]
        entries = [
            AlterClientQuotasRequestEntryData([EntityData("client-id", client)], what) for client in (RAW, STOCK)
        ]
        answer = self.once(AlterClientQuotasRequest(entries), 1)
        assert not any(each.error_code for each in answer.entries), answer

    def move(self, kind: str, topic: str, to: int) -> None:
        del kind
        order = [ReassignablePartition(0, [to, 3 - to])]
        moved = AlterPartitionReassignmentsRequest(10_000, topics=[ReassignableTopic(topic, order)])
        elected = ElectLeadersRequest(0, [TopicPartitions(topic, [0])], 10_000)

        def done() -> bool:
            self.once(moved, 0)
            self.once(elected, 2)
            return all(self.leader(topic, broker)[0] == to for broker in (1, 2))

        wait_until(done, f"{topic} is not led by {to}")

    @contextmanager
    def down(self, kind: str) -> Iterator[None]:
        """Broker 2 ends, by a controlled shutdown or at once, and is started again."""
        ended = threading.Thread(target=self.second.stop if kind == "broker restarted" else self.second.kill)
        ended.start()
        yield
        ended.join()
        self.second.start()

    @contextmanager
    def cut_off(self, kind: str) -> Iterator[None]:
        """The process of broker 2 gets no turn."""
        del kind
        with self._frozen():
            yield

    def silent(self, kind: str, ms: int) -> None:
        """Nobody sends anything."""
        time.sleep(ms / 1000)

    @contextmanager
    def rounds(self, kind: str) -> Iterator[None]:
        """By its settings."""
        yield

    def make_again(self, kind: str, topic: str) -> None:
        before = self.topic_id(topic)
        gone = self.once(DeleteTopicsRequest([DeleteTopicState(topic)], timeout_ms=10_000), 6)
        assert gone.responses[0].error_code == 0, gone
        made = CreatableTopic(topic, -1, -1, [CreatableReplicaAssignment(0, [2, 1])])
        wait_until(
            lambda: self.once(CreateTopicsRequest([made], 10_000), 7).topics[0].error_code == 0, "it is not made"
        )
        wait_until(lambda: self.topic_id(topic) not in (before, NO_ID), "it is not made again")
