"""The brokers with a TLS listener, and their throughput over it."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.process import BrokerProcess
from pykbroker.security.authority import Authority
from pykbroker.tests.kit.ports import free_ports
from scripts.bench_job.brokers import KAFKA_FLAGS, another
from scripts.bench_job.librdkafka import Batches
from scripts.bench_job.readings import Reading


class TlsKafka(ApacheKafka):
    """Apache Kafka with a TLS listener beside its plain one."""

    tls_port = 0

    def _roles(self, controller: str) -> dict[str, str]:
        listeners = f"PLAINTEXT://{self.bootstrap},TLS://{self.host}:{self.tls_port}"
        roles = {**super()._roles(controller), "listeners": f"{listeners},CONTROLLER://{controller}"}
        return {**roles, "advertised.listeners": listeners}


class Secured:
    """A broker of the same kind as another, with TLS. ``client_settings`` are for its clients."""

    def __init__(self, like: BrokerProcess, folder: Path) -> None:
        plain, tls = free_ports(2)
        settings = _settings(folder)
        self.authority = str(folder / "authority.pem")
        self.address = ("127.0.0.1", tls)
        if isinstance(like, ApacheKafka):
            self.broker: BrokerProcess = TlsKafka(folder / "data", settings, flags=KAFKA_FLAGS)
            self.broker.tls_port = tls  # type: ignore[attr-defined]
        else:
            listeners = f"PLAINTEXT://127.0.0.1:{plain},TLS://127.0.0.1:{tls}"
            self.broker = another(like, folder / "data", {**settings, "listeners": listeners})
        self.broker.port = plain
        self.broker.client_settings = {  # type: ignore[attr-defined]
            "bootstrap.servers": f"127.0.0.1:{tls}",
            "security.protocol": "ssl",
            "ssl.ca.location": self.authority,
        }

    def connect(self) -> ssl.SSLSocket:
        """Return a raw connection."""
        plain = socket.create_connection(self.address, 60)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return ssl.create_default_context(cafile=self.authority).wrap_socket(plain, server_hostname="127.0.0.1")


def _settings(folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    now = time.time_ns() // 1_000_000
    authority = Authority("bench", now)
    (folder / "authority.pem").write_text(authority.certificate)
    (folder / "broker.pem").write_text(authority.issue("127.0.0.1", now, hosts=["127.0.0.1"]).pem)
    (folder / "broker.pem").chmod(0o600)
    return {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,TLS:SSL,CONTROLLER:PLAINTEXT",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "broker.pem"),
    }


@contextlib.contextmanager
def secured(like: BrokerProcess, folder: Path) -> Iterator[Secured]:
    """Yield one that runs within the context."""
    found = Secured(like, folder)
    found.broker.start()
    try:
        yield found
    finally:
        found.broker.stop()


@dataclass(frozen=True)
class OverTls:
    """Large batches of librdkafka, of small and of larger records; a broker is warmed up before it is measured."""

    folder: Path
    records: int
    name: str = field(default="over TLS", init=False)

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        with secured(broker, self.folder / f"{broker.name}-{topic}".replace(" ", "-")) as tls:
            loads = [
                Batches("TLS, 100 B", 1, self.records, 100),
                Batches("TLS, 1 KiB", 1, self.records // 4, 1024),
            ]
            for load in loads:
                load.run(tls.broker, f"{topic}-warm-{load.size}")
            return [reading for load in loads for reading in load.run(tls.broker, f"{topic}-{load.size}")]
