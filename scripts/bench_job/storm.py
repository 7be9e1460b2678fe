"""One client's produces over TLS, while others connect two hundred times a second: the cost of handshakes for others."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from compat_tests.harness.process import ROOT, BrokerProcess
from scripts.bench_job.brokers import Topic
from scripts.bench_job.crowding import framed, one_record, timed
from scripts.bench_job.over_tls import Secured, secured
from scripts.bench_job.readings import Reading, milliseconds

_PER_SECOND: Final = 200
_PRODUCE_VERSION: Final = 9
#: A process of its own, which prints a line when it starts; then it connects, does the handshake and closes, at this
#: rate.
_RECONNECTING: Final = """
import socket, ssl, sys, time
host, port, authority, pace = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
context = ssl.create_default_context(cafile=authority)
began = time.monotonic()
for number in range(1_000_000):
    with context.wrap_socket(socket.create_connection((host, port), 60), server_hostname=host):
        pass
    if not number:
        print("begun", flush=True)
    time.sleep(max(0, began + (number + 1) / pace - time.monotonic()))
"""


@dataclass(frozen=True)
class HandshakeStorm:
    """One-record produces over one connection, one at a time, during the handshakes."""

    folder: Path
    produces: int
    name: str = field(default="produce over TLS among 200 handshakes/s", init=False)

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        with (
            secured(broker, self.folder / f"{broker.name}-{topic}".replace(" ", "-")) as tls,
            Topic(tls.broker, topic, 1),
            tls.connect() as mine,
        ):
            one = framed(one_record(topic, 100), _PRODUCE_VERSION)
            for _ in range(self.produces):
                timed(mine, one)
            with _reconnecting(tls):
                before = tls.broker.cpu_seconds()
                times = [timed(mine, one) for _ in range(self.produces)]
                cpu = tls.broker.cpu_seconds() - before
        cuts = statistics.quantiles(times, n=100)
        return [
            Reading(f"{self.name}, p50", cuts[49] * 1e3, milliseconds, cpu),
            Reading(f"{self.name}, p99", cuts[98] * 1e3, milliseconds),
        ]


@contextlib.contextmanager
def _reconnecting(tls: Secured) -> Iterator[None]:
    host, port = tls.address
    command = [sys.executable, "-c", _RECONNECTING, host, str(port), tls.authority, str(_PER_SECOND)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()
