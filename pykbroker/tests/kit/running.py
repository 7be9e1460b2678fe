"""A node in this process: real loop, real sockets, real disk, everything on free ports."""

from __future__ import annotations

import asyncio
import struct
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pykbroker.config.broker import BrokerConfig
from pykbroker.process.node import Node
from pykbroker.releases.release import NEWEST, release
from pykbroker.runtime.waits import Deferred
from pykbroker.steered.control import Control
from pykbroker.steered.steering import of_node
from pykbroker.storage.real_disk import RealDisk
from pykbroker.wire.headers import RequestHeader, decode_response_header, encode_request_header
from pykbroker.wire.message import Message

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock

T = TypeVar("T")


class RunningBroker:
    """A node of one broker or of several, on loopback ports."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.cluster = node.cluster
        self.server = node.server

    async def connect(self, broker: int = 1) -> Client:
        """A new connection; the test closes it."""
        host, port = self.node.addresses()[broker].split(":")
        return Client(*await asyncio.open_connection(host, int(port)))

    async def ask(self, request: Message, version: int, response: type[Message], *, broker: int = 1) -> Any:
        """One request on a connection of its own."""
        client = await self.connect(broker)
        answer = await client.ask(request, version, response)
        client.close()
        return answer


class Client:
    """Raw frames over one socket; requests may be sent ahead of their answers."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, client_id: str = "test") -> None:
        self.reader = reader
        self.writer = writer
        self._client_id = client_id
        self._correlation = 0

    def send(self, request: Message, version: int) -> int:
        """Send a request and return its correlation id."""
        self._correlation += 1
        frame = bytearray(4)
        encode_request_header(frame, RequestHeader(request.API_KEY, version, self._correlation, self._client_id))
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


def until_in_thread(condition: Callable[[], object]) -> None:
    """Come back when the condition holds, which another thread or process brings about. Fails after a minute."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.001)


def returns(call: Callable[[], object], limit_s: float) -> bool:
    """Whether a call returns within the limit; its error is raised here. One that does not is left to its thread."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(limit_s)
    if errors:
        raise errors[0]
    return not thread.is_alive()


async def ended(wait: Deferred[T]) -> T:
    """The result of a wait, once it is there."""
    await until(lambda: wait.done)
    return wait.value


@asynccontextmanager
async def running_broker(
    directory: Path,
    settings: dict[str, str] | None = None,
    disk: RealDisk | None = None,
    *,
    brokers: int = 1,
    racks: Sequence[str] | None = None,
    clock: Clock | None = None,
    as_version: str = NEWEST,
) -> AsyncIterator[RunningBroker]:
    """A node that is started, and stopped at the end. What it writes need not last, but on a ``disk`` of the test's own."""
    taken_for = release(as_version)
    texts = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(directory), **(settings or {})}
    config = BrokerConfig(texts, taken_for.definitions)
    wrap = None if disk is None else lambda _: disk
    node = Node(config, brokers, racks=racks, durable=False, clock=clock, wrap_disk=wrap, release=taken_for)
    await node.start()
    control = Control(directory, lambda: of_node(node, None))
    await control.open()
    try:
        yield RunningBroker(node)
    finally:
        await control.close()
        await node.stop()
