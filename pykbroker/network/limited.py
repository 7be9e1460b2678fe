"""The connections of a broker with connection limits: those that are open, those that wait, and those closed for others."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol

from pykbroker.network.acceptor import ConnectionAcceptor, ConnectionRefused, ConnectionRules, taken_over
from pykbroker.network.entering import enter

if TYPE_CHECKING:
    import asyncio
    import socket

    from pykbroker.network.connection import Connection


#: Creates a connection and the protocol for its socket.
Make = Callable[[], tuple["Connection", "asyncio.BaseProtocol"]]


class BrokerRules(ConnectionRules, Protocol):
    """The connection limits of one broker."""

    def begin(self, inside: Iterable[tuple[str, str]]) -> None:
        """Count the open connections, given as listener and address."""

    def left(self, listener: str, address: str) -> None:
        """A connection that was let in has ended."""

    def excess(self) -> int:
        """The number of connections to close on listeners that are not protected."""

    def is_protected(self, listener: str) -> bool:
        """Whether connections of other listeners are closed to make room for this listener's."""


class Limited:
    """See the module. ``has_descriptors`` says whether the process may have one more connection."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        has_descriptors: Callable[[], bool],
        rules: BrokerRules,
        inside: Iterable[Connection],
    ) -> None:
        self._loop = loop
        self._has_descriptors = has_descriptors
        self._acceptors: list[ConnectionAcceptor] = []
        self._inside: dict[Connection, str] = {}
        self._going: set[Connection] = set()
        self._entering: set[asyncio.Task[bool]] = set()
        self._rules = rules
        self.hold_to(rules, inside)

    def hold_to(self, rules: BrokerRules, inside: Iterable[Connection]) -> None:
        """Apply ``rules`` from now on; ``inside`` are the open connections."""
        self._rules = rules
        self._inside = {each: self._inside.get(each, each.host) for each in inside}
        rules.begin((each.listener, address) for each, address in self._inside.items())
        self.look_again()

    def open(self, server: asyncio.Server, backlog: int, listener: str, make: Make) -> None:
        """Replace a server of the loop by doors; ``make`` creates the connections."""
        for listening in taken_over(server, backlog):
            self._acceptors.append(
                ConnectionAcceptor(self._loop, listening, listener, self, partial(self._enter, make))
            )

    def turn_away(self) -> None:
        """Close the connections that wait: they connected to brokers that no longer exist."""
        for door in self._acceptors:
            door.turn_away()
        for task in self._entering:
            task.cancel()

    def descriptors(self) -> Iterator[int]:
        """The descriptors of the listening sockets."""
        return (door.descriptor for door in self._acceptors)

    def close(self) -> None:
        """Stop listening, and close the connections that wait."""
        for door in self._acceptors:
            door.close()
        self._acceptors.clear()
        for task in self._entering:
            task.cancel()

    @property
    def held(self) -> int:
        """The number of accepted sockets that are not let in."""
        return sum(door.held for door in self._acceptors)

    def look_again(self) -> None:
        """Close excess connections and let waiting ones in: a limit or the number of connections has changed."""
        self._close_excess()
        for door in sorted(self._acceptors, key=attrgetter("accepted_at")):
            door.look_again()

    def left(self, connection: Connection) -> None:
        """A connection has ended: let the next one in."""
        address = self._inside.pop(connection, None)
        self._going.discard(connection)
        if address is not None:
            self._rules.left(connection.listener, address)
            self.look_again()

    # ---- the limits for doors ----------------------------------------------------------------------------------------

    def arrived(self, listener: str) -> int:
        return self._rules.arrived(listener)

    def has_room(self, listener: str) -> bool:
        return self._rules.has_room(listener)

    def take(self, listener: str, address: str) -> None:
        if not self._has_descriptors():
            raise ConnectionRefused("the limit on open files (ulimit -n) allows no more connections")
        self._rules.take(listener, address)

    # ---- in and out --------------------------------------------------------------------------------------------------

    def _enter(self, make: Make, accepted: socket.socket, address: str) -> None:
        connection, protocol = make()
        self._inside[connection] = address
        task = enter(self._loop, connection, protocol, accepted)
        self._entering.add(task)
        task.add_done_callback(self._entering.discard)
        self._close_excess()

    def _close_excess(self) -> None:
        """Close the connections that have been idle longest."""
        too_many = self._rules.excess() - len(self._going)
        if too_many > 0:
            others = (
                each for each in self._inside if each not in self._going and not self._rules.is_protected(each.listener)
            )
            for each in heapq.nsmallest(too_many, others, key=attrgetter("last_active")):
                self._going.add(each)
                each.close("max.connections is exceeded, and it has been idle longest")
