"""The listening sockets and connections of one broker. They can be closed while other brokers of the process run on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pykbroker.network.binding import bound_again, create_server, is_uvloop
from pykbroker.network.connection import Connection
from pykbroker.network.entering import accept_waiting, enter, turn_away_waiting
from pykbroker.network.receive_block import shared_block

if TYPE_CHECKING:
    import socket

    from pykbroker.brokers.broker import Broker
    from pykbroker.network.admission import Admission
    from pykbroker.network.limited import BrokerRules, Limited
    from pykbroker.requests.dispatcher import Dispatcher

log = logging.getLogger(__name__)

_BACKLOG = 1024
#: How long a stopping broker waits for requests in flight. Long polls may last longer and are cut.
_FINISH_LIMIT_S = 2.0


class Bind(NamedTuple):
    """The address of a listener. Port 0 lets the system choose. Listeners with security have an ``admission``."""

    listener: str
    host: str
    port: int
    admission: Admission | None = None


class _Listening(NamedTuple):
    """An open listening socket."""

    bind: Bind
    max_frame: int
    server: asyncio.Server


class _Refused(asyncio.Protocol):
    """The protocol of a connection above the limit, which it closes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


class BrokerSockets:
    """See the module. ``broker`` is called for each connection, since a restarted broker is another object. ``has_room`` says
    whether the process may have one more connection.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        broker: Callable[[], Broker],
        dispatcher: Dispatcher,
        has_room: Callable[[], bool],
    ) -> None:
        self.connections: set[Connection] = set()
        self._loop = loop
        self._broker = broker
        self._dispatcher = dispatcher
        self._has_room = has_room
        self._opened: list[tuple[Bind, int]] = []
        #: Families and addresses of the listening sockets, and what holds them while the broker is stopped.
        self._addresses: list[tuple[int, Any]] = []
        self._held: list[socket.socket] = []
        self._listening: list[_Listening] = []
        self._serving = False
        #: Whether the sockets listen; not while the broker is stopped.
        self.is_open = False
        self._limited: Limited | None = None
        #: The loop itself keeps no task.
        self._entering: set[asyncio.Task[bool]] = set()
        self._none_left = asyncio.Event()
        self._shared_block = shared_block()

    async def open(self, bind: Bind, max_frame: int) -> int:
        """Open a socket for a listener; returns its port. Connections wait until ``start_serving``.

        Raises OSError if the address cannot be bound.
        """
        server = await self._listen(bind, max_frame)
        self.is_open = True
        self._addresses += [(each.family, each.getsockname()) for each in server.sockets]
        port: int = bind.port or server.sockets[0].getsockname()[1]
        self._opened.append((bind._replace(port=port), max_frame))
        return port

    async def open_again(self) -> None:
        """Open the closed sockets again, on the same ports. Raises OSError if one is in use by now."""
        self.release()
        try:
            for bind, max_frame in self._opened:
                await self._listen(bind, max_frame)
        except OSError:
            self._stop_listening()
            raise
        self.is_open = True

    def release(self) -> None:
        """Let others have the ports of a stopped broker."""
        while self._held:
            self._held.pop().close()

    async def start_serving(self) -> None:
        """Accept connections."""
        self._serving = True
        if self._limited is not None:
            self._open_acceptors(self._limited)
        for each in self._listening:
            await each.server.start_serving()

    def limit(self, rules: BrokerRules) -> None:
        """Accept connections as ``rules`` allow, instead of earlier rules. Open connections are counted."""
        if self._limited is None:
            from pykbroker.network.limited import Limited

            self._limited = Limited(self._loop, self._has_room, rules, self.connections)
        else:
            self._limited.hold_to(rules, self.connections)
        if self._serving:
            self._open_acceptors(self._limited)

    def limits_changed(self) -> None:
        """Apply changed rules: accept waiting connections, or close excess ones."""
        if self._limited is not None:
            self._limited.look_again()

    @property
    def count(self) -> int:
        """The number of connections, including accepted ones that wait for a limit."""
        return len(self.connections) + (0 if self._limited is None else self._limited.held)

    async def finish(self) -> None:
        """Stop listening, and close each connection once its requests in flight are answered; cut it if that takes long."""
        self._stop_listening()
        for connection in list(self.connections):
            connection.finish()
        if self.connections:
            self._none_left.clear()
            try:
                await asyncio.wait_for(self._none_left.wait(), _FINISH_LIMIT_S)
            except TimeoutError:
                self.cut()

    def cut(self) -> None:
        """Stop listening, and end all connections at once, as when a process is killed."""
        self._stop_listening()
        self.cut_connections()

    def cut_connections(self) -> None:
        """End all connections at once, including those that wait for a limit or to be accepted, and tell no one of the cluster, which is
        over; listening continues.
        """
        if self._limited is not None:
            self._limited.turn_away()
        for each in self._listening:
            turn_away_waiting(each.server, _BACKLOG)
        for connection in list(self.connections):
            connection.when_lost = None
            connection.cut()

    def descriptors(self) -> Iterator[int]:
        """The descriptors of all sockets: listening, holding a port, and connected."""
        yield from (each.fileno() for each in self._held)
        for listening in self._listening:
            yield from (each.fileno() for each in listening.server.sockets)
        if self._limited is not None:
            yield from self._limited.descriptors()
        for connection in self.connections:
            if connection.descriptor is not None:
                yield connection.descriptor

    def close(self) -> None:
        """Stop listening, and close each connection once its responses so far are sent."""
        self._stop_listening()
        for connection in list(self.connections):
            connection.close()

    async def _listen(self, bind: Bind, max_frame: int) -> asyncio.Server:
        def connection() -> asyncio.BaseProtocol:
            if not self._has_room():
                return _Refused()
            if accepts_one:
                accept_waiting(server, partial(self._enter, bind, max_frame))
            return self._made(bind, max_frame)[1]

        accepts_one = is_uvloop(self._loop)

        server = await create_server(
            self._loop, connection, _hosts(bind), bind.port, backlog=_BACKLOG, start_serving=False
        )
        self._listening.append(_Listening(bind, max_frame, server))
        return server

    def _enter(self, bind: Bind, max_frame: int, accepted: socket.socket) -> None:
        """Let in a connection that waited while the loop accepted another one."""
        if not self._has_room():
            accepted.close()
            return
        task = enter(self._loop, *self._made(bind, max_frame), accepted)
        self._entering.add(task)
        task.add_done_callback(self._entering.discard)

    def _made(self, bind: Bind, max_frame: int) -> tuple[Connection, asyncio.BaseProtocol]:
        """A connection, and the protocol for its socket."""
        made = Connection(self._broker(), self._dispatcher, bind.listener, max_frame, self._shared_block, self._ended)
        self.connections.add(made)
        if bind.admission is None:
            return made, made
        return made, bind.admission.admit(made, self._dispatcher, self._shared_block)

    def _open_acceptors(self, limited: Limited) -> None:
        """Replace the loop's servers, which accept every connection, by doors."""
        while self._listening:
            bind, max_frame, server = self._listening.pop()
            limited.open(server, _BACKLOG, bind.listener, partial(self._made, bind, max_frame))

    def _stop_listening(self) -> None:
        """The ports stay this process's: the system would give them to connections, those that ask for the stopped broker among them."""
        self._serving = self.is_open = False
        while self._listening:
            self._listening.pop().server.close()
        if self._limited is not None:
            self._limited.close()
        if not self._held:
            self._held = bound_again(self._addresses)

    def _ended(self, connection: Connection) -> None:
        self.connections.discard(connection)
        if self._limited is not None:
            self._limited.left(connection)
        if not self.connections:
            self._none_left.set()


def _hosts(bind: Bind) -> list[str] | None:
    """The addresses for ``create_server``. As in Java, :: listens on all IPv4 addresses too, unless the system chooses the port, which would differ."""
    if not bind.host:
        return None
    if bind.host == "::" and bind.port:
        return ["0.0.0.0", "::"]  # noqa: S104 - asked for
    return [bind.host]
