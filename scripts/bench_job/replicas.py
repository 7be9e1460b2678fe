"""Three brokers with all replicas in sync: produces with acks=all, reads, memory, and how long no record is acknowledged when a leader dies.

Apache Kafka's three are a process each, with its settings; pykbroker's are those of `serve --brokers 3`. Of the three, the first of Apache
Kafka is the controller and lives on: it is another broker that is killed.
"""

from __future__ import annotations

import contextlib
import json
import queue
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.harness.apache import ApacheBroker, ApacheKafka
from compat_tests.harness.kafka_tools import tool_command
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess
from scripts.bench_job.brokers import KAFKA_FLAGS
from scripts.bench_job.java_tools import JavaTools
from scripts.bench_job.readings import Reading, megabytes, seconds

_COUNT: Final = 3
#: Kafka's default in place of the shorter one of the tests.
_AS_KAFKA: Final = {"broker.session.timeout.ms": "9000", "broker.heartbeat.interval.ms": "2000"}
_ACKNOWLEDGED: Final = "producer_send_success"
_PATIENCE_S: Final = 60.0
_WATCHED: Final = "watched"
#: Clients learn within this time that a leader has died.
_WITHIN_S: Final = 1.0


class Brokers(Protocol):
    """Three brokers, which look like one to the loads."""

    name: str

    @property
    def bootstrap(self) -> str: ...
    def cpu_seconds(self) -> float: ...
    def memory_mb(self) -> float: ...
    def end(self, node: int) -> None:
        """End a broker abruptly, and return at once."""

    def bring_back(self, node: int) -> None:
        """Start it again."""


@dataclass(frozen=True)
class _Ours:
    process: Pykbroker
    name: str = field(default="pykbroker", init=False)

    @property
    def bootstrap(self) -> str:
        return ",".join(self.process.addresses.values())

    def cpu_seconds(self) -> float:
        return self.process.cpu_seconds()

    def memory_mb(self) -> float:
        return self.process.memory_mb()

    def end(self, node: int) -> None:
        self.process.change_broker("stop", node, "--abrupt")

    def bring_back(self, node: int) -> None:
        self.process.change_broker("start", node)


@dataclass(frozen=True)
class _Kafkas:
    processes: dict[int, ApacheKafka]
    name: str = field(default="kafka", init=False)

    @property
    def bootstrap(self) -> str:
        return ",".join(each.bootstrap for each in self.processes.values())

    def cpu_seconds(self) -> float:
        return sum(each.cpu_seconds() for each in self.processes.values())

    def memory_mb(self) -> float:
        return sum(each.memory_mb() for each in self.processes.values())

    def end(self, node: int) -> None:
        self.processes[node].kill()

    def bring_back(self, node: int) -> None:
        self.processes[node].start()


@contextlib.contextmanager
def three_like(broker: BrokerProcess, folder: Path) -> Iterator[Brokers]:
    """Three running brokers of the kind of ``broker``."""
    if not isinstance(broker, ApacheKafka):
        ours = Pykbroker(folder, brokers=_COUNT)
        ours.start()
        try:
            yield _Ours(ours)
        finally:
            ours.stop()
        return
    first = ApacheKafka(folder / "1", _AS_KAFKA, flags=KAFKA_FLAGS)
    others = [ApacheBroker(folder / str(node), first, node, _AS_KAFKA) for node in range(2, _COUNT + 1)]
    started: list[ApacheKafka] = []
    try:
        for each in (first, *others):
            each.flags = broker.flags
            each.start()
            started.append(each)
        yield _Kafkas({each.node_id: each for each in started})
    finally:
        for each in reversed(started):
            each.stop()


@dataclass(frozen=True)
class Replicated:
    """A topic of three replicas and six partitions for Kafka's own tools, and ``kills`` leaders of one of one partition."""

    folder: Path
    records: int
    kills: int
    hasty: bool = False
    name: str = field(default="three brokers", init=False)

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        with three_like(broker, self.folder / f"{broker.name}-{topic}".replace(" ", "-")) as three:
            admin = AdminClient({"bootstrap.servers": three.bootstrap})
            made = [NewTopic("loaded", 6, _COUNT), NewTopic(_WATCHED, 1, replica_assignment=[[2, 3, 1]])]
            for future in admin.create_topics(made).values():
                future.result(_PATIENCE_S)
            tools = JavaTools(1024, 6, self.records, hasty=self.hasty)
            readings = [_named(each) for each in tools.on(three, "loaded")]
            readings.append(Reading("three brokers, memory after that", three.memory_mb(), megabytes))
            silent = statistics.median(_silences(three, admin, self.kills, self.folder))
            return [*readings, Reading("three brokers, no acknowledgement when a leader dies", silent, seconds)]


def _named(reading: Reading) -> Reading:
    return Reading(f"three brokers, {reading.row}", reading.cost, reading.show, reading.cpu_s)


def _silences(three: Brokers, admin: AdminClient, kills: int, folder: Path) -> Iterator[float]:
    """The seconds without an acknowledgement around the end of a leader, for a Java producer of 200 records/s."""
    settings = folder / "producer.properties"
    settings.write_text("retries=2147483647\n")  # the producer's default; the tool's is none
    where = ["--bootstrap-server", three.bootstrap, "--topic", _WATCHED, "--command-config", str(settings)]
    command = [*tool_command("verifiable-producer"), *where, "--throughput", "200"]
    acknowledged: queue.SimpleQueue[float] = queue.SimpleQueue()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as producer:
        reading = threading.Thread(target=_read, args=(producer, acknowledged))
        reading.start()
        try:
            for _ in range(kills):
                acknowledged.get(timeout=_PATIENCE_S)
                node = _leader_of_all(admin)
                begun = time.monotonic()
                three.end(node)
                yield _longest_pause(acknowledged, begun, time.monotonic() + _WITHIN_S)
                three.bring_back(node)
        finally:
            producer.terminate()
            reading.join()


def _longest_pause(times: queue.SimpleQueue[float], since: float, until: float) -> float:
    """The longest time between two acknowledgements, of those that come from ``since`` to the first after ``until``."""
    last, longest = since, 0.0
    while last <= until:
        at = times.get(timeout=_PATIENCE_S)
        if at > since:
            last, longest = at, max(longest, at - last)
    return longest


def _read(producer: subprocess.Popen[str], acknowledged: queue.SimpleQueue[float]) -> None:
    assert producer.stdout is not None
    for line in producer.stdout:
        if line.startswith("{") and json.loads(line)["name"] == _ACKNOWLEDGED:
            acknowledged.put(time.monotonic())


def _leader_of_all(admin: AdminClient) -> int:
    """The leader, once all replicas are in sync: who is killed next is then followed by the other that is not the controller."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        partition = admin.list_topics(_WATCHED, timeout=_PATIENCE_S).topics[_WATCHED].partitions[0]
        if len(partition.isrs) == _COUNT:
            return int(partition.leader)
        time.sleep(0.1)
    raise TimeoutError(f"the replicas of {_WATCHED} are not in sync after {_PATIENCE_S:.0f} s")
