"""A share group of some members, with Kafka's ShareConsumerPerformance: each member is a thread, and acknowledges with its next poll."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from compat_tests.directories.client import Client
from compat_tests.harness.process import BrokerProcess
from pykbroker.metadata.image import GROUP_RESOURCE
from scripts.bench_job.brokers import Topic
from scripts.bench_job.java_tools import JavaTools, ToolFailed
from scripts.bench_job.readings import Reading, records_per_s

_TOOL = "org.apache.kafka.tools.ShareConsumerPerformance"
#: The tool's columns: start and end, MB and MB/s, records/s and records, and the time of fetching in ms.
_COLUMNS, _RECORDS, _FETCH_MS = 7, 5, 6


@dataclass(frozen=True)
class ShareGroup:
    """Members read a topic of records of 100 bytes that is there. The time is that of the tool: from the first record to the last."""

    members: int
    records: int
    partitions: int = 6
    hasty: bool = False

    @property
    def name(self) -> str:
        return f"share group of {self.members} member{'s' if self.members > 1 else ''}, {self.partitions} partitions"

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        tools = JavaTools(100, self.partitions, self.records, self.hasty)
        group = f"share-{topic}"
        with Topic(broker, topic, self.partitions):
            tools.produce(broker, topic)
            with closing(Client(broker.bootstrap)) as client:
                client.alter(GROUP_RESOURCE, group, {"share.auto.offset.reset": "earliest"})
            before = broker.cpu_seconds()
            amount = ["--num-records", str(self.records), "--threads", str(self.members), "--group", group]
            said = tools.run_tool(_TOOL, broker, topic, [*amount, "--hide-header", "--timeout", "60000"])
            cpu = broker.cpu_seconds() - before
        return [Reading(self.name, self._seconds(said) / self.records, records_per_s, cpu)]

    def _seconds(self, said: str) -> float:
        lines = [line.split(", ") for line in said.splitlines() if line.count(", ") == _COLUMNS - 1]
        if not lines or int(lines[-1][_RECORDS]) < self.records:
            raise ToolFailed(said)
        return float(lines[-1][_FETCH_MS]) / 1000
