"""What one more costs: connections, partitions and groups, on a broker that has many of them and nothing else to do."""

from __future__ import annotations

import contextlib
import resource
import socket
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.connection import Connection
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from scripts.bench_job.brokers import another
from scripts.bench_job.counted_loads import committed, requests
from scripts.bench_job.crowding import framed, one_record, timed
from scripts.bench_job.readings import Reading, kilobytes, milliseconds, per_second
from scripts.bench_job.topics import led

_PRODUCE_VERSION, _API_VERSIONS = 9, 3
_PATIENCE_S: Final = 600.0
_PRODUCES: Final = 1000
_SETTLING_S: Final = 1.0


@dataclass(frozen=True)
class Many:
    """Resident memory of the process: of a JVM what its heap has touched, which is more than lives in it."""

    folder: Path
    connections: int
    partitions: int
    groups: int
    name: str = field(default="many", init=False)

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        mine = another(broker, self.folder / f"{broker.name}-{topic}".replace(" ", "-"))
        mine.start()
        connection = Connection(mine.bootstrap, patience_s=_PATIENCE_S)
        try:
            led(connection, topic)
            requests(connection, one_record(topic, 100), _PRODUCE_VERSION)
            return [
                *self._of_connections(mine, topic),
                self._of(
                    "partition",
                    self.partitions,
                    mine,
                    lambda: led(connection, f"{topic}-many", partitions=self.partitions),
                ),
                self._of("group with an offset", self.groups, mine, lambda: committed(connection, topic, self.groups)),
            ]
        finally:
            connection.close()
            mine.stop()

    def _of_connections(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        hello = framed(ApiVersionsRequest("bench", "1"), _API_VERSIONS)
        memory, cpu, begun = _settled(broker), broker.cpu_seconds(), time.perf_counter()
        with contextlib.ExitStack() as opened:
            for _ in range(self.connections):
                client = opened.enter_context(socket.create_connection((broker.host, broker.port), _PATIENCE_S))
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                timed(client, hello)
            took, cpu = time.perf_counter() - begun, broker.cpu_seconds() - cpu
            each = (_settled(broker) - memory) * 1e3 / self.connections
            one = framed(one_record(topic, 100), _PRODUCE_VERSION)
            cuts = statistics.quantiles([timed(client, one) for _ in range(_PRODUCES)], n=100)
        among = f"among {self.connections:,} connections"
        return [
            Reading("connections, each with ApiVersions", took / self.connections, per_second, cpu),
            Reading("memory of a connection", max(each, 0.1), kilobytes),
            Reading(f"produce {among}, p50", cuts[49] * 1e3, milliseconds),
            Reading(f"produce {among}, p99", cuts[98] * 1e3, milliseconds),
        ]

    def _of(self, what: str, count: int, broker: BrokerProcess, make: Callable[[], object]) -> Reading:
        before, cpu = _settled(broker), broker.cpu_seconds()
        make()
        cpu = broker.cpu_seconds() - cpu
        return Reading(
            f"memory of a {what}, of {count:,}", max((_settled(broker) - before) * 1e3 / count, 0.1), kilobytes, cpu
        )


def _settled(broker: BrokerProcess) -> float:
    """Memory in MB, once the work that is left has been done."""
    time.sleep(_SETTLING_S)
    return broker.memory_mb()
