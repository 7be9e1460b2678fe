from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from pykbroker.tests.worlds.support import PORT, asking, echo, lived
from pykbroker.worlds.refusals import NotInAWorld
from pykbroker.worlds.world import World


def _asked(world: World) -> list[tuple[float, Any]]:
    """What a client was answered by a server in this world, and when."""
    told: list[tuple[float, Any]] = []
    world.host(echo)
    return told


def test_what_is_sent_is_answered() -> None:
    async def test(world: World) -> None:
        told = _asked(world)
        world.host(asking(lambda answer: told.append((world.now, answer))), name="client")
        await world.sleep(10)
        assert len(told) == 10
        assert {answer for _, answer in told} == {b"ping"}
        assert all(0 < now % 1 < 0.1 for now, _ in told)

    lived(test)


@pytest.mark.parametrize("one_way", [True, False])
@pytest.mark.parametrize("reverse", [True, False])
def test_a_partition_holds_up_and_lets_through_again(one_way: bool, reverse: bool) -> None:
    async def test(world: World) -> None:
        told = _asked(world)
        client = world.host(asking(lambda answer: told.append((world.now, answer))), name="client")
        server = world.hosts[0]
        between = (server, client) if reverse else (client, server)
        world.partition(*between, at=2.5, seconds=20, one_way=one_way)
        await world.sleep(20)
        assert len(told) == 3
        await world.sleep(10)
        assert told[3][0] == pytest.approx(22.5, abs=0.1)
        assert len(told) > 10
        assert {answer for _, answer in told} == {b"ping"}

    lived(test)


def test_a_host_that_connects_in_a_partition_waits_for_its_end() -> None:
    async def test(world: World) -> None:
        told = _asked(world)
        client = world.host(asking(lambda answer: told.append((world.now, answer))), name="client")
        world.partition(client, world.hosts[0], seconds=50)
        await world.sleep(200)
        assert 50 <= told[0][0] < 130
        assert told[0][1] == b"ping"

    lived(test)


def test_lost_connections_are_told_to_both() -> None:
    async def test(world: World) -> None:
        world.network.lost = 1.0
        told = _asked(world)
        world.host(asking(lambda answer: told.append((world.now, answer))), name="client")
        await world.sleep(5)
        assert [type(answer) for _, answer in told] == [ConnectionResetError]

    from pykbroker.worlds.life import live

    outcome = live(test, 1)
    assert outcome.error is None, outcome.error


def test_nobody_listens_and_nobody_is_there() -> None:
    async def test(world: World) -> None:
        world.host(echo)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("echo", PORT + 1)
        with pytest.raises(socket.gaierror, match=r"as world.host\(..., name='nowhere'\)"):
            await asyncio.open_connection("nowhere", PORT)
        await world.sleep(1)
        loop = asyncio.get_running_loop()
        assert (await loop.getaddrinfo("echo", PORT))[0][4] == ("echo", PORT)
        with pytest.raises(socket.gaierror):
            await loop.getaddrinfo("nowhere", PORT)

    lived(test)


def test_a_socket_that_connects_before_its_connection_is_made() -> None:
    """As aiohttp's do; no socket of the machine connects."""

    async def test(world: World) -> None:
        world.host(echo)
        await world.sleep(1)
        loop = asyncio.get_running_loop()
        with socket.socket() as made:
            await loop.sock_connect(made, ("echo", PORT))
            reader, writer = await asyncio.open_connection(sock=made)
            assert made.fileno() == -1
        writer.write(b"ping")
        assert await reader.readexactly(4) == b"ping"
        with socket.socket() as refused, pytest.raises(ConnectionRefusedError):
            await loop.sock_connect(refused, ("echo", PORT + 1))
        with socket.socket() as other, pytest.raises(NotInAWorld, match="connect to a host and a port"):
            await asyncio.open_connection(sock=other)

    lived(test)
