"""One broker with a listener for each way to be secure: the settings that Apache Kafka and pykbroker take alike."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import free_ports
from pykbroker.security.authority import Authority

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
#: How long a failed authentication is not answered: long enough to be told from a slow machine.
FAILED_DELAY_MS = 400
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
USERS = {"alice": "alice-secret", "mallory": 'quoted "and" \\ escaped', "bröt": "brot"}
#: Listener to protocol. PLAINTEXT is the harness's own and that of brokers among themselves.
PROTOCOLS = {
    "SSL": "SSL",
    "MUTUAL": "SSL",
    "ASKING": "SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SASL_SSL": "SASL_SSL",
    "SHORT": "SASL_PLAINTEXT",
}


@dataclass
class Certificates:
    """Files in PEM."""

    authority: Path
    broker: Path
    alice: Path
    stranger: Path
    expired: Path


def certificates(folder: Path) -> Certificates:
    """An authority, a broker's key store, and clients that are known, of another authority, and too late."""
    now = time.time_ns() // 1_000_000
    authority, other = Authority("Test CA", now), Authority("Other CA", now)
    texts = {
        "authority": authority.certificate,
        "broker": authority.issue("localhost", now, hosts=["localhost", "127.0.0.1"]).pem,
        "alice": authority.issue("alice", now, organization="Test").pem,
        "stranger": other.issue("alice", now).pem,
        "expired": authority.issue("alice", now, days=-1).pem,
    }
    for name, text in texts.items():
        (folder / f"{name}.pem").write_text(text)
    return Certificates(**{name: folder / f"{name}.pem" for name in texts})


class Listeners:
    """Ports and settings. ``settings`` are good for either broker."""

    def __init__(self, files: Certificates) -> None:
        self.files = files
        plaintext, *others = free_ports(1 + len(PROTOCOLS))
        self.ports = {"PLAINTEXT": plaintext, **dict(zip(PROTOCOLS, others, strict=True))}

    def address(self, listener: str) -> str:
        return f"127.0.0.1:{self.ports[listener]}"

    @property
    def listeners(self) -> str:
        return ",".join(f"{name}://{self.address(name)}" for name in self.ports)

    @property
    def settings(self) -> dict[str, str]:
        settings = {
            "listener.security.protocol.map": ",".join(
                f"{name}:{protocol}"
                for name, protocol in {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **PROTOCOLS}.items()
            ),
            "connection.failed.authentication.delay.ms": str(FAILED_DELAY_MS),
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "sasl.server.max.receive.size": "10000",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.files.broker),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.files.authority),
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.asking.ssl.client.auth": "requested",
            "listener.name.short.connections.max.reauth.ms": "3000",
        }
        users = " ".join(f'user_{name}="{_quoted(password)}"' for name, password in USERS.items())
        for listener in ("sasl_plaintext", "sasl_ssl", "short"):
            prefix = f"listener.name.{listener}"
            settings[f"{prefix}.plain.sasl.jaas.config"] = f"{_PLAIN} required {users};"
            settings[f"{prefix}.scram-sha-256.sasl.jaas.config"] = f"{_SCRAM} required;"
            settings[f"{prefix}.scram-sha-512.sasl.jaas.config"] = f"{_SCRAM} required;"
        return settings


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def properties_value(text: str) -> str:
    """As a properties file holds it, whatever charset its reader takes it for."""
    escaped = text.replace("\\", "\\\\")
    return "".join(c if c.isascii() else f"\\u{ord(c):04x}" for c in escaped)


class SecuredKafka(ApacheKafka):
    """Apache Kafka with all of them."""

    def __init__(self, folder: Path, listeners: Listeners, settings: dict[str, str] | None = None) -> None:
        values = {**listeners.settings, "advertised.listeners": listeners.listeners, **(settings or {})}
        super().__init__(folder, {name: properties_value(value) for name, value in values.items()})
        self._listeners = listeners
        self.port = listeners.ports["PLAINTEXT"]

    def _roles(self, controller: str) -> dict[str, str]:
        roles = super()._roles(controller)
        return {**roles, "listeners": f"{self._listeners.listeners},CONTROLLER://{controller}"}


class SecuredPykbroker(Pykbroker):
    """pykbroker with all of them."""

    def __init__(self, folder: Path, listeners: Listeners, settings: dict[str, str] | None = None) -> None:
        super().__init__(folder, {**listeners.settings, "listeners": listeners.listeners, **(settings or {})})
        self.port = listeners.ports["PLAINTEXT"]
