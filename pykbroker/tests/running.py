"""A real broker in this process for tests of the shell: real loop, real sockets, real disk, everything on free ports."""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from pykbroker.brokers.cluster import Cluster
from pykbroker.config.broker import BrokerConfig
from pykbroker.metadata.image import Endpoint
from pykbroker.network.server import Server
from pykbroker.network.sockets import Bind
from pykbroker.runtime.clock import Clock, SystemClock
from pykbroker.runtime.waits import Deferred
from pykbroker.storage.disk import RealDisk
from pykbroker.wire.headers import RequestHeader, decode_response_header, encode_request_header
from pykbroker.wire.message import Message

T = TypeVar("T")


class RunningBroker:
    """One broker on a loopback port."""

    def __init__(self, cluster: Cluster, server: Server, port: int) -> None:
        self.cluster = cluster
        self.server = server
        self.port = port

    async def connect(self) -> Client:
        """A new connection; the test closes it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        return Client(reader, writer)


class Client:
    """Raw frames over one socket; requests may be sent ahead of their answers."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._correlation = 0

    def send(self, request: Message, version: int) -> int:
        """Send a request and return its correlation id."""
        self._correlation += 1
        frame = bytearray(4)
        encode_request_header(frame, RequestHeader(request.API_KEY, version, self._correlation, "test"))
        request.encode(frame, version)
        struct.pack_into(">i", frame, 0, len(frame) - 4)
        self.writer.write(frame)
        return self._correlation

    async def receive(self, response: type[Message], version: int) -> tuple[int, Message]:
        """The next response: its correlation id and its body."""
        size = struct.unpack(">i", await self.reader.readexactly(4))[0]
        frame = await self.reader.readexactly(size)
        correlation, pos = decode_response_header(frame, 0, response.API_KEY, version)
        return correlation, response.decode(frame, pos, version)[0]

    async def ask(self, request: Message, version: int, response: type[Message]) -> Message:
        sent = self.send(request, version)
        correlation, answer = await self.receive(response, version)
        assert correlation == sent
        return answer

    async def closed_by_broker(self) -> bool:
        """True when the broker ends the connection without sending anything more."""
        ended = await self.reader.read(1) == b""
        self.writer.close()
        return ended

    def close(self) -> None:
        self.writer.close()


async def until(condition: Callable[[], bool]) -> None:
    """Come back when the condition holds."""
    for _ in iter(condition, True):
        await asyncio.sleep(0.001)


async def ended(wait: Deferred[T]) -> T:
    """The result of a wait, once it is there."""
    await until(lambda: wait.done)
    return wait.value


@asynccontextmanager
async def running_broker(
    directory: Path,
    settings: dict[str, str] | None = None,
    disk: RealDisk | None = None,
    most_connections: int = 1000,
    clock: Clock | None = None,
) -> AsyncIterator[RunningBroker]:
    config = BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", **(settings or {})})
    server = Server(asyncio.get_running_loop(), most_connections)
    port = await server.listen(1, Bind("PLAINTEXT", "127.0.0.1", 0), config["socket.request.max.bytes"])
    disk = disk or RealDisk(durable=False)
    cluster = Cluster.open(config, directory, disk, clock or SystemClock(), random.Random(1))
    cluster.start_brokers({1: [Endpoint("PLAINTEXT", "127.0.0.1", port)]})
    server.take_up(cluster)
    await server.start_serving()
    try:
        yield RunningBroker(cluster, server, port)
    finally:
        await server.close()
        cluster.shutdown()
