"""A node with secure listeners in this process, and raw clients of them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pykbroker.process.node import Node
from pykbroker.releases.release import NEWEST
from pykbroker.tests.kit.certificates import authority, broker, written
from pykbroker.tests.kit.running import Client, running_broker

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock

PLAIN_USERS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret" user_bob="b";'
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


def tls_settings(folder: Path) -> dict[str, str]:
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": written(folder, "broker.pem", broker().pem),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": written(folder, "authority.pem", authority().certificate),
    }


def sasl_settings(*listeners: str) -> dict[str, str]:
    settings = {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256", "connection.failed.authentication.delay.ms": "0"}
    for listener in listeners:
        settings[f"listener.name.{listener}.plain.sasl.jaas.config"] = PLAIN_USERS
        settings[f"listener.name.{listener}.scram-sha-256.sasl.jaas.config"] = SCRAM
    return settings


class SecuredNode:
    """``ports`` of the first broker by listener, ``every_port`` of all of them."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.every_port = [
            {name: int(where.rpartition(":")[2]) for name, where in broker["listeners"].items()}
            for broker in node.summary()["brokers"]
        ]
        self.ports = self.every_port[0]

    async def connect(self, listener: str, context: ssl.SSLContext | None = None, broker: int = 1) -> Client:
        host = "localhost" if context is not None else None
        port = self.every_port[broker - 1][listener]
        return Client(*await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=host))


@asynccontextmanager
async def secured_node(
    folder: Path,
    listeners: Mapping[str, str],
    settings: Mapping[str, str],
    clock: Clock | None = None,
    as_version: str = NEWEST,
    brokers: int = 1,
) -> AsyncIterator[SecuredNode]:
    """``listeners`` are names and protocols; PLAINTEXT is there as well."""
    every = {"PLAINTEXT": "PLAINTEXT", **listeners}
    config = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in every),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in every.items()),
        **settings,
    }
    async with running_broker(folder / "data", config, brokers=brokers, clock=clock, as_version=as_version) as running:
        yield SecuredNode(running.node)


def client_context(certificate: str | None = None) -> ssl.SSLContext:
    """Of a client that believes the authority; ``certificate`` is a file with its own."""
    context = ssl.create_default_context(cadata=authority().certificate)
    if certificate is not None:
        context.load_cert_chain(certificate)
    return context
