"""The two brokers, each as its users run it."""

from __future__ import annotations

import shlex
import time
from contextlib import closing
from pathlib import Path
from typing import Self

from confluent_kafka.admin import AdminClient

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess, ServerFailed, answers_api_versions
from compat_tests.oracle.connection import Connection
from scripts.bench_job.topics import led

#: JVM flags of Kafka's kafka-server-start and kafka-run-class.
_JVM = [
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
]
KAFKA_FLAGS = ["-Xmx1G", "-Xms1G", *_JVM]
TOOL_FLAGS = ["-Xmx512M", *_JVM]
#: And where numbers mean nothing: a quarter of the processor time.
HASTY = ["-XX:TieredStopAtLevel=1", "-Xshare:auto"]
#: Members of share groups have their partitions with their second heartbeat, which would come after five seconds. A join of a new group
#: would only measure for how long it waits for others.
_SETTINGS = {
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.heartbeat.interval.ms": "200",
    "group.initial.rebalance.delay.ms": "0",
}

_WITHOUT_UVLOOP = "import sys; sys.modules['uvloop'] = None; from pykbroker.__main__ import main; main()"


class _OursAsUsed(Pykbroker):
    """With cached bytecode, as in any ordinary start."""

    def environment(self) -> dict[str, str]:
        environment = super().environment()
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return environment


class _OursAsItWas(_OursAsUsed):
    """Another checkout of pykbroker, on this one's Python."""

    name = "pykbroker as it was"

    def __init__(self, folder: Path, checkout: Path, settings: dict[str, str] | None = None) -> None:
        super().__init__(folder, settings)
        self.working_directory = checkout.resolve()

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "PYTHONPATH": str(self.working_directory)}


class OnPython(_OursAsUsed):
    """pykbroker of this checkout on another interpreter, ``python`` in words; on asyncio's own loop unless with ``uvloop``."""

    def __init__(self, name: str, folder: Path, python: str, *, uvloop: bool) -> None:
        super().__init__(folder, _SETTINGS)
        self.name = name
        self._python = shlex.split(python)
        self._start = ["-m", "pykbroker"] if uvloop else ["-c", _WITHOUT_UVLOOP]

    def command(self) -> list[str]:
        return [*self._python, *self._start, *super().command()[3:]]

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "PYTHONPATH": str(self.working_directory)}


class RunningBroker(BrokerProcess):
    """Any other broker, which whoever called the bench has started: it is neither started nor stopped here."""

    def __init__(self, name: str, host: str, port: int, pid: int) -> None:
        super().__init__(Path())
        self.name, self.host, self.port, self._pid = name, host, port, pid

    @property
    def pid(self) -> int:
        return self._pid

    def command(self) -> list[str]:
        raise NotImplementedError

    def is_ready(self) -> bool:
        return answers_api_versions(self.host, self.port)

    def start(self) -> None:
        """Raises ServerFailed where it does not answer, or has no such process."""
        if not (self.is_ready() and Path(f"/proc/{self.pid}").exists()):
            raise ServerFailed(f"{self.name} does not answer at {self.bootstrap}, or is not the process {self.pid}")

    def stop(self, limit_s: float = 0) -> int:
        return 0


def make_pair(
    folder: Path, settings: dict[str, str] | None = None, *, before: Path | None = None, hasty: bool = False
) -> tuple[BrokerProcess, BrokerProcess]:
    """Return Apache Kafka, or pykbroker from the checkout ``before``, and pykbroker; not started, with a folder each."""
    flags = [*KAFKA_FLAGS, *(HASTY if hasty else [])]
    settings = {**_SETTINGS, **(settings or {})}
    other: BrokerProcess = ApacheKafka(folder / "kafka", settings, flags=flags)
    if before is not None:
        other = _OursAsItWas(folder / "before", before, settings)
    return other, _OursAsUsed(folder / "pykbroker", settings)


def another(broker: BrokerProcess, folder: Path, settings: dict[str, str] | None = None) -> BrokerProcess:
    """Return another broker of the same kind with an empty folder, not started."""
    before = broker.working_directory if isinstance(broker, _OursAsItWas) else None
    hasty = isinstance(broker, ApacheKafka) and set(HASTY) <= set(broker.flags)
    (fresh,) = (one for one in make_pair(folder, settings, before=before, hasty=hasty) if one.name == broker.name)
    return fresh


def timed_start(broker: BrokerProcess) -> float:
    """Start the broker; returns the seconds from the call to its first ApiVersions response."""
    begun = time.perf_counter()
    broker.start()
    while not answers_api_versions(broker.host, broker.port):
        time.sleep(0.001)
    return time.perf_counter() - begun


class Topic:
    """A topic for one load, as a context: created before and deleted after it."""

    def __init__(self, broker: BrokerProcess, name: str, partitions: int) -> None:
        self.name, self.partitions = name, partitions
        self._bootstrap = broker.bootstrap
        self._admin = AdminClient({"bootstrap.servers": broker.bootstrap})

    def __enter__(self) -> Self:
        with closing(Connection(self._bootstrap)) as connection:
            led(connection, self.name, partitions=self.partitions)
        return self

    def __exit__(self, *exception: object) -> None:
        self._admin.delete_topics([self.name])[self.name].result(60)
