"""asyncio's own event loop on virtual time, with sockets in memory: as ordered, as full and as badly left as a test wants them.

Tasks, futures and timers are asyncio's. Time goes on when nothing is ready, to the next timer. A peer that has left is noticed as
by epoll: by whoever reads or writes, and by nobody while reading is paused.
"""

from __future__ import annotations

import asyncio
import errno
import math
import socket
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, cast

from pykbroker.runtime.clock import ManualClock

#: Bytes that a client's kernel takes for him while he reads nothing.
KERNEL_BUFFER = 8 * 1024
#: Bytes that wait here until the protocol is told to stop, and until it is told to go on.
HIGH_WATER, LOW_WATER = 16 * 1024, 4 * 1024


class VirtualLoop(asyncio.BaseEventLoop):
    """See the module. ``each_turn`` is called before each turn, with whether nothing is left to do now."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        super().__init__()
        self._clock_resolution = 1e-9
        self._selector = self
        self._readers: dict[Listening, Callable[[], None]] = {}
        self._listening: dict[int, Listening] = {}
        self._ports = 9000
        self.each_turn: Callable[[bool], None] = lambda _: None
        #: Calls of accept that fail from now on, for want of a descriptor.
        self.without_descriptors = 0
        #: Accepted sockets that turn out to be dead before anything is done with them.
        self.dead_on_arrival = 0
        self.errors: list[dict[str, Any]] = []
        self.set_exception_handler(lambda _, context: self.errors.append(context))

    def time(self) -> float:
        return self._clock.monotonic()

    @property
    def pending_timers(self) -> int:
        """Of call_later, those that are not cancelled."""
        return sum(not each.cancelled() for each in self._scheduled)  # type: ignore[attr-defined]

    # ---- as a selector ------------------------------------------------------------------------------------------------

    def select(self, timeout: float | None) -> list[Any]:
        self.each_turn(timeout != 0)
        assert timeout is not None, "everybody waits for somebody else, and no timer is set"
        if timeout > 0:
            self._clock.advance(math.ceil(timeout * 1000))
        return []

    def _process_events(self, events: list[Any]) -> None:
        """None come by the selector."""

    # ---- listening ----------------------------------------------------------------------------------------------------

    async def create_server(self, factory: Any, hosts: Any, port: int, **_: Any) -> Any:  # type: ignore[override]
        self._ports += not port
        return Server(self, factory, Listening(self, port or self._ports))

    def knock(self, wire: Wire, port: int) -> bool:
        """A client connects; False where nobody listens."""
        listening = self._listening.get(port)
        if listening is None:
            return False
        listening.arrive(wire)
        return True

    def add_reader(self, listening: Any, callback: Any) -> None:  # type: ignore[override]
        self._readers[listening] = callback
        self.is_readable(listening)

    def remove_reader(self, listening: Any) -> bool:
        return self._readers.pop(listening, None) is not None

    def is_readable(self, listening: Listening) -> None:
        """Tell who reads it, in the next turn, and again as long as there is something."""
        if listening.backlog and not listening.is_told and listening in self._readers:
            listening.is_told = True
            self.call_soon(self._tell, listening)

    def _tell(self, listening: Listening) -> None:
        listening.is_told = False
        if listening.backlog and listening in self._readers:
            self._readers[listening]()
            self.is_readable(listening)

    async def connect_accepted_socket(self, factory: Any, accepted: Any) -> Any:  # type: ignore[override]
        if self.dead_on_arrival:
            self.dead_on_arrival -= 1
            raise OSError(errno.EINVAL, "Invalid argument")
        if accepted.wire.is_ended:
            raise ValueError("Invalid file descriptor: -1")
        protocol = factory()
        begun = self.create_future()
        transport = Transport(self, accepted.wire, protocol, begun)
        try:
            await begun
        except BaseException:
            transport.close()
            raise
        return transport, protocol


class Wire:
    """A TCP connection, with the client's side of it. ``told`` is called with each step of its way."""

    def __init__(
        self, loop: VirtualLoop, listener: str, address: str, port: int, told: Callable[[Wire, str], None]
    ) -> None:
        self.loop = loop
        self.listener = listener
        self.address = address
        self.port = port
        self.told = told
        self.transport: Transport | None = None
        self.to_broker = bytearray()
        self.to_client = bytearray()
        self.reads = True
        self.is_gone = False
        self.is_reset = False
        #: Whether the broker's side is closed.
        self.is_ended = False

    def send(self, data: bytes) -> None:
        """The client says something."""
        if not (self.is_gone or self.is_ended):
            self.to_broker += data
            self._stir()

    def take(self) -> bytes:
        """The client reads all that there is."""
        taken = bytes(self.to_client)
        self.to_client.clear()
        if self.transport is not None:
            self.transport.drain()
        return taken

    def leave(self, *, abruptly: bool) -> None:
        """The client closes, and with a reset what he said is lost as far as it was not read."""
        self.is_gone = True
        if abruptly:
            self.is_reset = True
            self.to_broker.clear()
        self.to_client.clear()
        self._stir()

    def end(self) -> None:
        """The broker's side is closed."""
        if not self.is_ended:
            self.is_ended = True
            self.told(self, "ended")

    def _stir(self) -> None:
        if self.transport is not None:
            self.transport.stir()


class Listening:
    """A listening socket."""

    family = socket.AF_INET

    def __init__(self, loop: VirtualLoop, port: int) -> None:
        self._loop = loop
        self.port = port
        self.backlog: deque[Wire] = deque()
        self.is_told = False
        loop._listening[port] = self

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    def arrive(self, wire: Wire) -> None:
        """A client connects."""
        self.backlog.append(wire)
        self._loop.is_readable(self)

    def accept(self) -> tuple[Accepted, tuple[str, int]]:
        if not self.backlog:
            raise BlockingIOError
        if self._loop.without_descriptors:
            self._loop.without_descriptors -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        wire = self.backlog.popleft()
        wire.told(wire, "accepted")
        return Accepted(wire), (wire.address, wire.port)

    def close(self) -> None:
        if self._loop._listening.get(self.port) is self:
            del self._loop._listening[self.port]
        self.turn_away()

    def turn_away(self) -> None:
        """End the connections that nobody has accepted."""
        while self.backlog:
            self.backlog.popleft().end()


class Accepted:
    """A socket of ours that no transport has yet."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    def setblocking(self, _: bool) -> None:
        pass

    def close(self) -> None:
        self.wire.end()


class Server:
    """Accepts whoever comes, as asyncio's own."""

    def __init__(self, loop: VirtualLoop, factory: Callable[[], Any], listening: Listening) -> None:
        self._loop = loop
        self._factory = factory
        self.sockets = [listening]

    async def start_serving(self) -> None:
        self._loop.add_reader(self.sockets[0], self._accept)

    def _accept(self) -> None:
        try:
            accepted, _ = self.sockets[0].accept()
        except OSError:
            self._loop.remove_reader(self.sockets[0])
            self._loop.call_later(1, self._again)
            return
        accepted.wire.told(accepted.wire, "entered")
        Transport(self._loop, accepted.wire, self._factory(), None)

    def _again(self) -> None:
        if self.sockets:
            self._loop.add_reader(self.sockets[0], self._accept)

    def hand_over(self) -> list[Any]:
        """In place of ``doors.taken_over``."""
        self._loop.remove_reader(self.sockets[0])
        taken, self.sockets = self.sockets, []
        return taken

    def turn_away(self) -> None:
        """In place of ``entering.turn_away_waiting``."""
        for each in self.sockets:
            each.turn_away()

    def close(self) -> None:
        for each in self.hand_over() if self.sockets else ():
            each.close()


class Transport(asyncio.Transport):
    """The broker's side of a connection, as asyncio's transport for a BufferedProtocol."""

    def __init__(self, loop: VirtualLoop, wire: Wire, protocol: Any, begun: asyncio.Future[None] | None) -> None:
        super().__init__()
        self._loop = loop
        self._wire = wire
        self._protocol = cast("asyncio.BufferedProtocol", protocol)
        self._unsent = bytearray()
        self._is_open = False
        self._is_paused = False
        self._is_stirred = False
        self._is_full = False
        self._closing = False
        self._lost = False
        wire.transport = self
        loop.call_soon(protocol.connection_made, self)
        loop.call_soon(self._open)
        if begun is not None:
            loop.call_soon(lambda: begun.done() or begun.set_result(None))

    def _open(self) -> None:
        self._is_open = True
        self.stir()

    # ---- in -----------------------------------------------------------------------------------------------------------

    def stir(self) -> None:
        """Something happened at the other end."""
        if self._is_open and not self._is_stirred and not self._lost:
            self._is_stirred = True
            self._loop.call_soon(self._ready)

    def _ready(self) -> None:
        self._is_stirred = False
        wire = self._wire
        if self._unsent and wire.is_gone:
            self._fail(BrokenPipeError())
        if self._is_paused or self._closing or self._lost:
            return
        if wire.is_reset:
            self._fail(ConnectionResetError())
        elif wire.to_broker:
            room = self._protocol.get_buffer(-1)
            some = min(len(room), len(wire.to_broker))  # type: ignore[arg-type]
            assert some, "the protocol has no room, and did not pause"
            room[:some] = wire.to_broker[:some]  # type: ignore[index]
            del wire.to_broker[:some]
            self._protocol.buffer_updated(some)
            self.stir()
        elif wire.is_gone:
            assert not self._protocol.eof_received()
            self.close()

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        self._is_paused = False
        self.stir()

    # ---- out ----------------------------------------------------------------------------------------------------------

    def write(self, data: Any) -> None:
        if self._lost:
            return
        self._unsent += data
        if self._wire.is_gone:
            self._wire.is_reset = True  # as the peer's kernel answers
            self.stir()
        self._push()
        if len(self._unsent) > HIGH_WATER and not self._is_full:
            self._is_full = True
            self._protocol.pause_writing()

    def writelines(self, pieces: Iterable[Any]) -> None:
        self.write(b"".join(pieces))

    def drain(self) -> None:
        """The client has taken something."""
        if self._lost:
            return
        self._push()
        if self._is_full and len(self._unsent) <= LOW_WATER:
            self._is_full = False
            self._protocol.resume_writing()
        if self._closing and not self._unsent:
            self._lose(None)

    def _push(self) -> None:
        room = len(self._unsent) if self._wire.reads else KERNEL_BUFFER - len(self._wire.to_client)
        if not self._wire.is_gone:
            self._wire.to_client += self._unsent[:room]
        del self._unsent[:room]

    def get_write_buffer_size(self) -> int:
        return len(self._unsent)

    # ---- the end ------------------------------------------------------------------------------------------------------

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        names = {"peername": (self._wire.address, self._wire.port), "sockname": ("127.0.0.1", 9092)}
        return names.get(name, default)

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            if not self._unsent:
                self._lose(None)

    def abort(self) -> None:
        self._unsent.clear()
        self._closing = True
        self._lose(None)

    def _fail(self, error: OSError) -> None:
        self._unsent.clear()
        self._closing = True
        self._lose(error)

    def _lose(self, error: Exception | None) -> None:
        if not self._lost:
            self._lost = True
            self._loop.call_soon(self._end, error)

    def _end(self, error: Exception | None) -> None:
        self._wire.transport = None
        try:
            self._protocol.connection_lost(error)
        finally:
            self._wire.end()
