"""Limits on connections while the broker's sockets are cut, closed and opened again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from pykbroker.network.sockets import Bind, BrokerSockets
from pykbroker.process.connection_limits import BrokerLimits
from pykbroker.quotas.connections import ConnectionLimits, ListenerLimits
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.runtime.rates import Windows
from pykbroker.tests.kit.cluster import LISTENER, MemoryCluster

MOST = 3


class AtTheDoor(BrokerLimits):
    """``then`` happens right after a connection was let in, before anything is done with it."""

    then: Callable[[], None] | None = None

    def take(self, listener: str, address: str) -> None:
        super().take(listener, address)
        if self.then is not None:
            asyncio.get_running_loop().call_soon(self.then)


def test_who_is_asked_to_go_before_he_is_quite_in_goes(caplog: pytest.LogCaptureFixture) -> None:
    """As those of clients who make room for a broker that came in the same turn of the loop."""
    world = MemoryCluster()
    rules = AtTheDoor(ConnectionLimits({LISTENER: ListenerLimits(MOST)}, LISTENER), Windows(), world.clock, lambda: 0)

    async def run() -> None:
        sockets = BrokerSockets(
            asyncio.get_running_loop(), lambda: world.cluster.brokers[1], Dispatcher(), lambda: True
        )
        port = await sockets.open(Bind(LISTENER, "127.0.0.1", 0), 1000)
        sockets.limit(rules)
        await sockets.start_serving()
        rules.then = lambda: [each.close("there is no room") for each in sockets.connections]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()
        assert sockets.connections == set()
        sockets.cut()
        sockets.release()

    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.parametrize("end", [BrokerSockets.cut, BrokerSockets.close])
def test_who_comes_in_while_the_sockets_close_takes_no_room_for_ever(end: Callable[[BrokerSockets], None]) -> None:
    """As a client that connects while a broker is reset, or stopped and started again."""
    world = MemoryCluster()
    limits = ConnectionLimits({LISTENER: ListenerLimits(MOST)}, LISTENER)
    rules = AtTheDoor(limits, Windows(11, 1000), world.clock, lambda: 0)

    async def ends_at_the_door(sockets: BrokerSockets, port: int) -> None:
        rules.then = lambda: end(sockets)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()
        assert sockets.connections == set()

    async def run() -> None:
        sockets = BrokerSockets(
            asyncio.get_running_loop(), lambda: world.cluster.brokers[1], Dispatcher(), lambda: True
        )
        port = await sockets.open(Bind(LISTENER, "127.0.0.1", 0), 1000)
        sockets.limit(rules)
        await sockets.start_serving()
        for _ in range(MOST + 1):
            await ends_at_the_door(sockets, port)
            await sockets.open_again()
            await sockets.start_serving()
        assert rules.has_room(LISTENER)
        sockets.cut()
        sockets.release()

    asyncio.run(asyncio.wait_for(run(), 60))
