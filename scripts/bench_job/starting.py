"""Start and idle memory of a broker, measured on processes of their own."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from compat_tests.harness.process import BrokerProcess
from scripts.bench_job.brokers import another, timed_start
from scripts.bench_job.readings import Reading, megabytes, seconds


@dataclass(frozen=True)
class Starts:
    """A start on a formatted folder without topics, up to the first ApiVersions response, and memory soon after."""

    folder: Path
    idle_s: float
    name: str = field(default="start", init=False)

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        fresh = another(broker, self.folder / topic)
        fresh.start()  # formats the folder
        fresh.stop()
        took = timed_start(fresh)
        time.sleep(self.idle_s)
        cpu, memory = fresh.cpu_seconds(), fresh.memory_mb()
        fresh.stop()
        return [Reading(self.name, took, seconds, cpu), Reading("memory, idle", memory, megabytes)]


@dataclass(frozen=True)
class MemoryAfterLoad:
    """Resident memory of the broker after all loads before this one."""

    name: str = field(default="memory, after these loads", init=False)

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        return [Reading(self.name, broker.memory_mb(), megabytes)]
