"""The event loop of a host: asyncio's interface on virtual time and the simulated network."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextvars import Context
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import WeakValueDictionary

from pykbroker.worlds.refusals import refuse

if TYPE_CHECKING:
    import socket

    from pykbroker.worlds.network import Network
    from pykbroker.worlds.simulator import Host

log = logging.getLogger(__name__)


class _Numbers:
    """Numbers of tasks and futures: sets of them are walked in the same order in every process."""

    def __init__(self) -> None:
        self._next = itertools.count(1)

    def begin(self) -> None:
        """Begin with 1 again."""
        self._next = itertools.count(1)

    def __call__(self) -> int:
        return next(self._next)


numbers = _Numbers()


class WorldTask(asyncio.Task[Any]):
    """A task whose hash is a number and no address."""

    _number = 0

    def __hash__(self) -> int:
        if not self._number:
            self._number = numbers()
        return self._number


class WorldFuture(asyncio.Future[Any]):
    """A future whose hash is a number and no address."""

    _number = 0

    def __hash__(self) -> int:
        if not self._number:
            self._number = numbers()
        return self._number


class HostLoop(asyncio.AbstractEventLoop):
    """See the module. What it does not simulate is refused by name."""

    def __init__(self, host: Host, network: Network) -> None:
        self._host = host
        self._network = network
        self._names = itertools.count(1)
        self._numbers = itertools.count()
        self._tasks: list[WorldTask] = []
        self._factory: Any = None
        #: Async generators that have begun, in that order.
        self._generators: WeakValueDictionary[int, AsyncGenerator[Any, Any]] = WeakValueDictionary()
        host.generator_hooks = (self._begin_generator, self._end_generator)
        #: The places to which sockets have connected, whose connections are made with their protocols.
        self._connected: dict[int, tuple[str, int]] = {}
        self._handler: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None = None
        #: What handles signals, by their number.
        self.signal_handlers: dict[int, Callable[[], object]] = {}

    # ---- callbacks and time --------------------------------------------------------------------------------------------

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Context | None = None) -> asyncio.Handle:  # type: ignore[override]
        handle = asyncio.Handle(callback, args, self, context)
        self._host.call(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        simulator = self._host.simulator
        simulator.at(max(simulator.now, simulator.now + when - simulator.monotonic), self._due, handle)
        return handle

    def _due(self, handle: asyncio.TimerHandle) -> None:
        if not handle.cancelled():
            self._host.call(handle)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Nothing to do: it is passed over when it is due."""

    def time(self) -> float:
        return self._host.simulator.monotonic

    # ---- tasks and futures ---------------------------------------------------------------------------------------------

    def create_future(self) -> asyncio.Future[Any]:
        return WorldFuture(loop=self)

    def create_task(
        self, coro: Generator[Any, None, Any] | Coroutine[Any, Any, Any], *, name: str | None = None, **others: Any
    ) -> asyncio.Task[Any]:
        if not self._host.alive:
            raise RuntimeError("Event loop is closed")
        if self._factory is not None:
            made: asyncio.Task[Any] = self._factory(self, coro, **others)
            return made
        task = WorldTask(coro, loop=self, name=name or f"Task-{next(self._names)}", **others)
        self._tasks.append(task)
        if len(self._tasks) > 64 and len(self._tasks) & 63 == 0:
            self._tasks = [each for each in self._tasks if not each.done()]
        return task

    def set_task_factory(self, factory: Any) -> None:
        self._factory = factory

    def get_task_factory(self) -> Any:
        return self._factory

    def unfinished(self) -> list[WorldTask]:
        """The tasks that have not ended."""
        return [each for each in self._tasks if not each.done()]

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        name = getattr(func, "__qualname__", None) or getattr(getattr(func, "func", None), "__qualname__", repr(func))
        refuse(f"loop.run_in_executor (or asyncio.to_thread) with {name}", "a thread has no place in virtual time")

    # ---- network -------------------------------------------------------------------------------------------------------

    async def create_connection(
        self, protocol_factory: Callable[[], Any], host: Any = None, port: Any = None, **others: Any
    ) -> tuple[asyncio.Transport, Any]:
        if others.get("ssl"):
            refuse(f"TLS to {host}:{port}", "a world's connections are plain: use a PLAINTEXT listener there")
        if (sock := others.get("sock")) is not None:
            host, port = self._connected.pop(sock.fileno(), (None, None))
            if host is not None:
                sock.close()
        if host is None:
            refuse("create_connection(sock=...)", "a world has no sockets: connect to a host and a port")
        return await self._network.connect(self._host, protocol_factory, _text(host), int(port))

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        """Some clients (aiohttp) connect a socket before they make its connection: who does not answer is told here."""
        host, port = _text(address[0]), int(address[1])
        await self._network.check_answers(self._host, host, port)
        self._connected[sock.fileno()] = host, port

    async def create_server(  # type: ignore[override]
        self, protocol_factory: Callable[[], Any], host: Any = None, port: Any = None, **others: Any
    ) -> asyncio.AbstractServer:
        if others.get("ssl") or others.get("sock") is not None:
            refuse("create_server with ssl or sock", "a world's connections are plain, by host and port")
        hosts = [_text(each) for each in ([host] if isinstance(host, str | bytes) or host is None else host)]
        return self._network.listen(
            self._host, protocol_factory, hosts, int(port or 0), start=others.get("start_serving", True)
        )

    async def getaddrinfo(self, host: Any, port: Any, **others: Any) -> list[Any]:
        return self._network.addresses(_text(host), int(port or 0))

    async def getnameinfo(self, sockaddr: Any, flags: int = 0) -> tuple[str, str]:
        return sockaddr[0], str(sockaddr[1])

    # ---- the rest of a loop --------------------------------------------------------------------------------------------

    def add_signal_handler(self, sig: int, callback: Callable[..., Any], *args: Any) -> None:  # type: ignore[override]
        self.signal_handlers[int(sig)] = lambda: callback(*args)

    def remove_signal_handler(self, sig: int) -> bool:
        return self.signal_handlers.pop(int(sig), None) is not None

    def set_exception_handler(self, handler: Any) -> None:
        self._handler = handler

    def get_exception_handler(self) -> Any:
        return self._handler

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self._host.simulator.note(self._host.name, "error", f"{context.get('message')}: {error!r}")
        log.error("%s: %s", self._host.name, context.get("message"), exc_info=error)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self._host.alive:
            return
        if self._handler is None:
            self.default_exception_handler(context)
        else:
            self._handler(self, context)

    def get_debug(self) -> bool:
        return False

    def set_debug(self, enabled: bool) -> None:
        """Debugging would measure real time."""

    def is_running(self) -> bool:
        return self._host.alive

    def is_closed(self) -> bool:
        return not self._host.alive

    def _begin_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        self._generators[next(self._numbers)] = generator

    def _end_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        """Nobody refers to it any more: its ``finally`` is run, unless the host is dead."""
        if self._host.alive:
            self.call_soon(self.create_task, generator.aclose())

    async def shutdown_asyncgens(self) -> None:
        generators = list(self._generators.values())
        self._generators.clear()
        await asyncio.gather(*(each.aclose() for each in generators), return_exceptions=True)

    async def shutdown_default_executor(self) -> None:
        """There is none."""

    def stop(self) -> NoReturn:
        refuse("loop.stop()", "a host ends when its function returns: return from it")

    def close(self) -> NoReturn:
        refuse("loop.close()", "a host ends when its function returns: return from it")

    def run_forever(self) -> NoReturn:
        refuse("loop.run_forever()", "the world runs the loop: give it an async function")

    def run_until_complete(self, future: Any) -> NoReturn:
        refuse("loop.run_until_complete()", "the world runs the loop: await instead")


def _text(host: Any) -> str:
    return host.decode() if isinstance(host, bytes) else host or ""


def _refused(name: str) -> Callable[..., Any]:
    def refused(self: HostLoop, *args: Any, **others: Any) -> NoReturn:
        refuse(f"loop.{name}", "a world has TCP connections by host and port, and nothing else of the machine")

    return refused


for _name in (
    *(
        "create_datagram_endpoint",
        "create_unix_connection",
        "create_unix_server",
        "connect_accepted_socket",
        "start_tls",
    ),
    *("subprocess_exec", "subprocess_shell", "connect_read_pipe", "connect_write_pipe", "sendfile", "sock_sendfile"),
    *("add_reader", "add_writer", "remove_reader", "remove_writer", "sock_recv", "sock_recv_into", "sock_recvfrom"),
    *("sock_recvfrom_into", "sock_sendall", "sock_sendto", "sock_accept", "set_default_executor"),
):
    setattr(HostLoop, _name, _refused(_name))
