"""Connections that come together are let in together, on the loop of the product."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

uvloop = pytest.importorskip("uvloop", reason="the standard loop accepts all that wait")

from pykbroker.tests.kit.running import Client, running_broker  # noqa: E402
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse  # noqa: E402

CROWD = 50
#: Turns of the loop: the one that accepts, those in which transports are made, and one in reserve.
TURNS = 5


def test_who_connects_last_of_a_crowd_is_let_in_with_the_first(tmp_path: Path) -> None:
    """libuv lets one in a turn, and a turn in which others send megabytes is long: these had many answers meanwhile."""

    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            host, port = broker.node.addresses()[1].split(":")
            crowd = [socket.create_connection((host, int(port))) for _ in range(CROWD)]
            for _ in range(TURNS):
                await asyncio.sleep(0)
            inside = broker.server.sockets(1).connections
            assert len([each for each in inside if each.port]) == CROWD
            for each in crowd:
                each.close()
            client = Client(*await asyncio.open_connection(host, int(port)))
            await client.ask(ApiVersionsRequest(), 0, ApiVersionsResponse)
            client.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scenario())
