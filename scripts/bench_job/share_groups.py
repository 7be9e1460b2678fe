"""A share group of some members, each a thread that acknowledges with its next poll: Kafka's ShareConsumerPerformance for what passes in a
second, librdkafka's for how long one record takes.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from queue import SimpleQueue

from confluent_kafka import KafkaException, Producer, ShareConsumer

from compat_tests.directories.client import Client
from compat_tests.harness.awaiting import until
from compat_tests.harness.process import BrokerProcess
from pykbroker.metadata.image import GROUP_RESOURCE
from pykbroker.wire.messages.share_group_describe import ShareGroupDescribeRequest
from scripts.bench_job.brokers import Topic
from scripts.bench_job.java_tools import JavaTools, ToolFailed
from scripts.bench_job.readings import Reading, milliseconds, records_per_s

_TOOL = "org.apache.kafka.tools.ShareConsumerPerformance"
#: The tool's columns: start and end, MB and MB/s, records/s and records, and the time of fetching in ms.
_COLUMNS, _RECORDS, _FETCH_MS = 7, 5, 6
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class ShareGroup:
    """Members read a topic of records of 100 bytes that is there; the time is that of the tool, from the first record to the last. Then
    records are produced one by one: from produce() until some member's poll() returns it.
    """

    members: int
    records: int
    latencies: int = 2_000
    partitions: int = 6
    hasty: bool = False

    @property
    def name(self) -> str:
        return f"share group of {self.members} member{'s' if self.members > 1 else ''}, {self.partitions} partitions"

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        return [self._passed(broker, topic), *self._one_by_one(broker, f"{topic}-single")]

    def _passed(self, broker: BrokerProcess, topic: str) -> Reading:
        tools = JavaTools(100, self.partitions, self.records, self.hasty)
        with Topic(broker, topic, self.partitions):
            tools.produce(broker, topic)
            group = _group(broker, topic)
            before = broker.cpu_seconds()
            amount = ["--num-records", str(self.records), "--threads", str(self.members), "--group", group]
            said = tools.run_tool(_TOOL, broker, topic, [*amount, "--hide-header", "--timeout", "60000"])
            cpu = broker.cpu_seconds() - before
        return Reading(self.name, self._seconds(said) / self.records, records_per_s, cpu)

    def _seconds(self, said: str) -> float:
        lines = [line.split(", ") for line in said.splitlines() if line.count(", ") == _COLUMNS - 1]
        if not lines or int(lines[-1][_RECORDS]) < self.records:
            raise ToolFailed(said)
        return float(lines[-1][_FETCH_MS]) / 1000

    def _one_by_one(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        came: SimpleQueue[float] = SimpleQueue()
        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, "acks": 1})

        def passes(number: int) -> float:
            begun = time.perf_counter()
            producer.produce(topic, b"x" * 100, partition=number % self.partitions)
            producer.poll(0)
            return came.get(timeout=_PATIENCE_S) - begun

        with Topic(broker, topic, self.partitions):
            group = _group(broker, topic)
            with self._polling(broker, topic, group, came):
                _await_assigned(broker, group, self.members)
                for number in range(max(self.latencies // 10, 20)):
                    passes(number)
                before = broker.cpu_seconds()
                times = [passes(number) for number in range(self.latencies)]
                cpu = broker.cpu_seconds() - before
            producer.flush(_PATIENCE_S)
        cuts = statistics.quantiles(times, n=100)
        return [
            Reading(f"{self.name}, latency, p50", cuts[49] * 1e3, milliseconds, cpu),
            Reading(f"{self.name}, latency, p99", cuts[98] * 1e3, milliseconds),
        ]

    @contextmanager
    def _polling(self, broker: BrokerProcess, topic: str, group: str, came: SimpleQueue[float]) -> Iterator[None]:
        """Meanwhile members poll, and tell when each record came. Raises KafkaException for what a member got in place of one."""
        over = threading.Event()

        def poll() -> None:
            settings = {
                "bootstrap.servers": broker.bootstrap,
                "group.id": group,
                "log_level": 3,
            }  # no warning of a preview
            with ShareConsumer(settings) as member:
                member.subscribe([topic])
                while not over.is_set():
                    for message in member.poll(0.5):
                        if message.error():
                            raise KafkaException(message.error())
                        came.put(time.perf_counter())

        with ThreadPoolExecutor(self.members) as pool:
            polls = [pool.submit(poll) for _ in range(self.members)]
            try:
                yield
            finally:
                over.set()
            for each in polls:
                each.result()


def _group(broker: BrokerProcess, topic: str) -> str:
    """A group of its own for a topic, which begins with its first record."""
    with closing(Client(broker.bootstrap)) as client:
        client.alter(GROUP_RESOURCE, f"share-{topic}", {"share.auto.offset.reset": "earliest"})
    return f"share-{topic}"


def _await_assigned(broker: BrokerProcess, group: str, members: int) -> None:
    """Until so many members have partitions."""
    with closing(Client(broker.bootstrap)) as client:

        def are_assigned() -> bool:
            (found,) = client.ask(ShareGroupDescribeRequest([group]), 1).groups
            return sum(bool(each.assignment.topic_partitions) for each in found.members) == members

        until(are_assigned, "some members have no partitions", pause_s=0.05)
