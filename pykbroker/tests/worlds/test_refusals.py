"""What a world does not simulate is refused by name."""

from __future__ import annotations

import _thread
import asyncio
import multiprocessing
import os
import queue
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pykbroker.tests.worlds.support import PORT, echo, lived
from pykbroker.worlds.exploring import explore
from pykbroker.worlds.refusals import NotInAWorld
from pykbroker.worlds.world import World


async def _connects() -> None:
    with socket.socket() as made:
        made.connect(("127.0.0.1", 1))


async def _listens() -> None:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))


async def _listens_at_any() -> None:
    with socket.socket() as made:
        made.listen()


async def _nothing(world: World) -> None:
    """Lives in no time."""


async def _call(function: Callable[..., Any], *args: Any) -> None:
    function(*args)


async def _loop(name: str, *args: Any) -> None:
    found = getattr(asyncio.get_running_loop(), name)(*args)
    if found is not None:
        await found


CALLS: dict[str, Callable[[], Awaitable[Any]]] = {
    "time.sleep": lambda: _call(time.sleep, 1),
    "threading.Thread.start": lambda: _call(threading.Thread(target=print).start),
    "asyncio.to_thread": lambda: asyncio.to_thread(print),
    "socket.connect": _connects,
    "socket.bind": _listens,
    "socket.getaddrinfo": lambda: _call(socket.getaddrinfo, "localhost", 80),
    "a world": lambda: _call(explore, _nothing, [1]),
    "threading.Event.wait": lambda: _call(threading.Event().wait, 1),
    "queue.Queue.get": lambda: _call(queue.Queue().get),
    "select.select": lambda: _call(select.select, [], [], [], 1),
    "signal.signal": lambda: _call(signal.signal, signal.SIGTERM, signal.SIG_DFL),
    "subprocess.Popen": lambda: _call(subprocess.run, [sys.executable, "-V"]),
    "os.fork": lambda: _call(os.fork),
    "_thread.start_new_thread": lambda: _call(_thread.start_new_thread, print, ()),
    "socket.gethostbyaddr": lambda: _call(socket.gethostbyaddr, "127.0.0.1"),
    "socket.listen": _listens_at_any,
    "selectors.": lambda: _call(selectors.SelectSelector().select, 1),
    "select.poll": lambda: _call(select.poll),
    "queue.SimpleQueue.get": lambda: _call(lambda: queue.SimpleQueue().get()),
    "multiprocessing": lambda: _call(multiprocessing.get_context("spawn").Process(target=print).start),
    "os.posix_spawn": lambda: _call(os.posix_spawn, sys.executable, [sys.executable, "-V"], {}),
    "os.execv": lambda: _call(os.execl, sys.executable, sys.executable, "-V"),
    "os._exit": lambda: _call(os._exit, 0),
    "os.kill": lambda: _call(os.kill, os.getpid(), signal.SIGTERM),
    "signal.alarm": lambda: _call(signal.alarm, 100),
    "signal.raise_signal": lambda: _call(signal.raise_signal, signal.SIGTERM),
    "loop.subprocess_exec": lambda: asyncio.create_subprocess_exec(sys.executable),
    "loop.create_unix_connection": lambda: asyncio.open_unix_connection("/tmp/x"),
    "loop.create_datagram_endpoint": lambda: _loop("create_datagram_endpoint", asyncio.DatagramProtocol),
    "TLS to": lambda: asyncio.open_connection("a", 1, ssl=True),
    "create_connection(sock": lambda: _loop("create_connection", asyncio.Protocol),
    "loop.run_until_complete": lambda: _loop("run_until_complete", None),
    "loop.add_reader": lambda: _loop("add_reader", 0, print),
}


@pytest.mark.parametrize("call", CALLS)
def test_it_is_refused(call: str) -> None:
    async def test(world: World) -> None:
        with pytest.raises(NotInAWorld) as refused:
            await CALLS[call]()
        assert call.replace("SimpleQueue", "Queue") in str(refused.value)
        assert "world" in str(refused.value)

    lived(test)


def test_a_look_that_does_not_wait_is_none() -> None:
    async def test(world: World) -> None:
        assert not threading.Event().wait(0)
        assert select.select([], [], [], 0) == ([], [], [])
        with pytest.raises(queue.Empty):
            queue.Queue().get_nowait()

    lived(test)


def test_a_cluster_without_brokers_is_refused() -> None:
    async def test(world: World) -> None:
        with pytest.raises(ValueError, match="brokers is 0; write 1 or more"):
            await world.kafka(brokers=0)

    lived(test)


def test_it_works_again_afterwards() -> None:
    async def test(world: World) -> None:
        """Nothing."""

    lived(test)
    time.sleep(0)
    thread = threading.Thread(target=_no_thread)
    thread.start()
    thread.join()
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))


def _no_thread() -> None:
    """Nothing."""


def test_a_client_that_reads_the_clock_in_a_compiled_module_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Client(asyncio.Protocol):
        """As aiokafka's protocol."""

    Client.__module__ = "aiokafka.conn"

    async def test(world: World) -> None:
        loop = asyncio.get_running_loop()
        world.host(echo)
        await world.sleep(1)
        await loop.create_connection(Client, "echo", PORT)
        monkeypatch.setitem(sys.modules, "aiokafka.record._crecords", sys)
        with pytest.raises(NotInAWorld, match="AIOKAFKA_NO_EXTENSIONS=1"):
            await loop.create_connection(Client, "echo", PORT)

    monkeypatch.delitem(sys.modules, "aiokafka.record._crecords", raising=False)
    lived(test)
