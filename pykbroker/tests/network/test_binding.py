"""Sockets are bound as the loop would bind them, without a thread that resolves an address."""

from __future__ import annotations

import asyncio
import errno
import threading
from pathlib import Path

import pytest
import uvloop

from pykbroker.network.binding import create_server


def threads() -> set[object]:
    """All of the process, libuv's included, where the system tells."""
    tasks = Path("/proc/self/task")
    return set(tasks.iterdir()) if tasks.is_dir() else set(threading.enumerate())


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_clients_are_served(host: str) -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        before = threads()
        server = await create_server(loop, asyncio.Protocol, [host], 0, backlog=10, start_serving=False)
        assert host == "localhost" or not threads() - before  # those of other tests may end meanwhile
        await server.start_serving()
        address, port, *_ = server.sockets[0].getsockname()
        _, writer = await asyncio.open_connection(address, port)
        writer.close()
        with pytest.raises(OSError, match=r".") as refused:
            await create_server(loop, asyncio.Protocol, [address], port, backlog=10)
        assert refused.value.errno == errno.EADDRINUSE
        server.close()
        await server.wait_closed()
        again = await create_server(loop, asyncio.Protocol, [address], port, backlog=10)
        again.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scenario())
