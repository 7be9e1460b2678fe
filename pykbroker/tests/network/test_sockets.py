"""Which addresses a listener is reached by."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from pykbroker.tests.kit.ports import free_ports
from pykbroker.tests.kit.running import Client, running_broker
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no addresses of version 6")
def test_all_addresses_of_version_6_are_those_of_version_4_as_well(tmp_path: Path) -> None:
    """As for Java."""

    async def scenario() -> None:
        (port,) = free_ports(1)
        async with running_broker(tmp_path, {"listeners": f"PLAINTEXT://[::]:{port}"}) as broker:
            for host in ("127.0.0.1", "::1"):
                client = Client(*await asyncio.open_connection(host, port))
                await client.ask(ApiVersionsRequest(), 0, ApiVersionsResponse)
                assert [each.host for each in broker.server.sockets(1).connections if each.host == host]
                client.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("abrupt", [False, True])
def test_the_port_of_a_stopped_broker_is_nobody_elses(tmp_path: Path, abrupt: bool) -> None:
    """The system gives closed ports to connections; those that ask for the stopped broker would even connect to themselves."""

    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            host, _, port = broker.node.addresses()[1].rpartition(":")
            for _ in range(2):
                await broker.node.brokers.stop(1, abrupt=abrupt)
                with socket.socket() as other, pytest.raises(OSError, match="in use"):
                    other.bind((host, int(port)))
                with pytest.raises(ConnectionRefusedError):
                    await asyncio.open_connection(host, int(port))
                await broker.node.brokers.start(1)
                await broker.ask(ApiVersionsRequest(), 0, ApiVersionsResponse)
            await broker.node.brokers.stop(1, abrupt=abrupt)
        with socket.create_server((host, int(port))):
            pass  # they are free again

    asyncio.run(scenario())
