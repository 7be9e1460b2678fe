"""A broker's listeners where connections are limited: who is inside, who waits at the doors, and who has to go for others."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol

from pykbroker.network.doors import Door, Refused, Rules, taken_over

if TYPE_CHECKING:
    import asyncio
    import socket

    from pykbroker.network.connection import Connection


log = logging.getLogger(__name__)

#: Makes a connection, and the protocol for its socket.
Make = Callable[[], tuple["Connection", "asyncio.BaseProtocol"]]


class BrokerRules(Rules, Protocol):
    """What decides for the listeners of one broker."""

    def begin(self, inside: Iterable[tuple[str, str]]) -> None:
        """Count those that are inside already, by listener and address."""

    def left(self, listener: str, address: str) -> None:
        """A connection that was let in has ended."""

    def excess(self) -> int:
        """How many are to be closed, of listeners that are not protected."""

    def is_protected(self, listener: str) -> bool:
        """Whether others have to go for a listener's connections."""


class Limited:
    """See the module. ``has_descriptors`` says whether the process may have one connection more at all."""

    def __init__(self, loop: asyncio.AbstractEventLoop, has_descriptors: Callable[[], bool]) -> None:
        self._loop = loop
        self._has_descriptors = has_descriptors
        self._doors: list[Door] = []
        self._inside: dict[Connection, str] = {}
        self._going: set[Connection] = set()
        self._entering: set[asyncio.Task[bool]] = set()

    def hold_to(self, rules: BrokerRules, inside: Iterable[Connection]) -> None:
        """Let ``rules`` decide from now on; ``inside`` are the connections that are open."""
        self._rules = rules
        self._inside = {each: self._inside.get(each, each.host) for each in inside}
        rules.begin((each.listener, address) for each, address in self._inside.items())
        self.look_again()

    def open(self, server: asyncio.Server, backlog: int, listener: str, make: Make) -> None:
        """Take the place of a server."""
        for listening in taken_over(server, backlog):
            self._doors.append(Door(self._loop, listening, listener, self, partial(self._enter, make)))

    def turn_away(self) -> None:
        """Close those who are not in yet: what they have said was said to brokers that are no more."""
        for door in self._doors:
            door.turn_away()
        for task in self._entering:
            task.cancel()

    def close(self) -> None:
        """Let nobody in any more."""
        while self._doors:
            self._doors.pop().close()
        for task in self._entering:
            task.cancel()

    @property
    def held(self) -> int:
        """Sockets that are not let in."""
        return sum(door.held for door in self._doors)

    def look_again(self) -> None:
        """There may be room, or less of it than before."""
        self._close_excess()
        for door in sorted(self._doors, key=attrgetter("accepted_at")):
            door.look_again()

    def left(self, connection: Connection) -> None:
        """A connection has ended."""
        address = self._inside.pop(connection, None)
        self._going.discard(connection)
        if address is not None:
            self._rules.left(connection.listener, address)
            self.look_again()

    # ---- what doors ask ----------------------------------------------------------------------------------------------

    def arrived(self, listener: str) -> int:
        return self._rules.arrived(listener)

    def has_room(self, listener: str) -> bool:
        return self._rules.has_room(listener)

    def take(self, listener: str, address: str) -> None:
        if not self._has_descriptors():
            raise Refused("as many connections are open as the limit on open files allows")
        self._rules.take(listener, address)

    # ---- in and out --------------------------------------------------------------------------------------------------

    def _enter(self, make: Make, accepted: socket.socket, address: str) -> None:
        connection, protocol = make()
        self._inside[connection] = address
        task = self._loop.create_task(self._connect(protocol, accepted))
        self._entering.add(task)
        task.add_done_callback(partial(self._entered, connection, accepted))
        self._close_excess()

    async def _connect(self, protocol: asyncio.BaseProtocol, accepted: socket.socket) -> bool:
        try:
            await self._loop.connect_accepted_socket(lambda: protocol, accepted)
        except OSError:  # the client is gone again
            return False
        return True

    def _entered(self, connection: Connection, accepted: socket.socket, task: asyncio.Task[bool]) -> None:
        """Not the task's own end: of one that is cancelled before its first step nothing runs, and its connection stayed."""
        self._entering.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.error("Unhandled error while a connection of %s is let in", connection.host, exc_info=error)
        if task.cancelled() or error is not None or not task.result():
            accepted.close()
            connection.connection_lost(None)

    def _close_excess(self) -> None:
        """Those that were idle for longest."""
        too_many = self._rules.excess() - len(self._going)
        if too_many > 0:
            others = (
                each for each in self._inside if each not in self._going and not self._rules.is_protected(each.listener)
            )
            for each in heapq.nsmallest(too_many, others, key=attrgetter("last_active")):
                self._going.add(each)
                each.close("there are more than max.connections, and it was idle for longest")
