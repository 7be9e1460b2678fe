"""Loads of Kafka's own performance tools, with their default settings (acks=all, idempotent, batches of 16 KiB)."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import Protocol

from compat_tests.harness.class_archives import KAFKA
from compat_tests.harness.java import java_command
from compat_tests.harness.process import BrokerProcess
from scripts.bench_job.brokers import HASTY, TOOL_FLAGS, Topic
from scripts.bench_job.readings import Reading, records_per_s

_PRODUCER = "org.apache.kafka.tools.ProducerPerformance"
_CONSUMER = "org.apache.kafka.tools.ConsumerPerformance"
_SENT = re.compile(r"^(\d+) records sent, ([\d.]+) records/sec", re.MULTILINE)


class Measured(Protocol):
    """One broker, or several that look like one."""

    @property
    def bootstrap(self) -> str: ...
    def cpu_seconds(self) -> float: ...


class ToolFailed(RuntimeError):
    """A tool failed or printed no result; the message is its output."""


@dataclass(frozen=True)
class JavaTools:
    """ProducerPerformance writes a topic, ConsumerPerformance reads it."""

    size: int
    partitions: int
    records: int
    hasty: bool = False

    @property
    def name(self) -> str:
        size = f"{self.size} B" if self.size < 1024 else f"{self.size // 1024} KiB"
        return f"{size}, {self.partitions} partition{'s' if self.partitions > 1 else ''}"

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        with Topic(broker, topic, self.partitions):
            return self.on(broker, topic)

    def on(self, broker: Measured, topic: str) -> list[Reading]:
        """The same on a topic that is there."""
        before = broker.cpu_seconds()
        sent = self.produce(broker, topic)
        between = broker.cpu_seconds()
        read = self._consume(broker, topic)
        after = broker.cpu_seconds()
        return [
            Reading(f"producer-perf, {self.name}", 1 / sent, records_per_s, between - before),
            Reading(f"consumer-perf, {self.name}", 1 / read, records_per_s, after - between),
        ]

    def produce(self, broker: Measured, topic: str) -> float:
        """Return records per second."""
        amount = ["--num-records", str(self.records), "--record-size", str(self.size), "--throughput", "-1"]
        said = self.run_tool(_PRODUCER, broker, topic, amount)
        found = _SENT.findall(said)
        if not found or int(found[-1][0]) != self.records:
            raise ToolFailed(said)
        return float(found[-1][1])

    def _consume(self, broker: Measured, topic: str) -> float:
        """Return records per second of fetching, without the time of joining the group, which the tool subtracts."""
        amount = ["--num-records", str(self.records), "--hide-header", "--timeout", "60000"]
        said = self.run_tool(_CONSUMER, broker, topic, amount)
        lines = [line.split(", ") for line in said.splitlines() if line.count(", ") == 9]
        if not lines or int(lines[-1][4]) < self.records:
            raise ToolFailed(said)
        return float(lines[-1][9])

    def run_tool(self, main: str, broker: Measured, topic: str, arguments: list[str]) -> str:
        """Return what a tool has printed. Raises ToolFailed."""
        where = ["--bootstrap-server", broker.bootstrap, "--topic", topic]
        flags = [*TOOL_FLAGS, *(HASTY if self.hasty else [])]
        command = [*java_command(main, KAFKA, flags=flags), *where, *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise ToolFailed(done.stdout)
        return done.stdout
