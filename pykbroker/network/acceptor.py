"""Accepts connections one at a time, as limits allow. Imported with the first limit; without limits the event loop accepts.

As in Kafka, one accepted connection waits for the limits and further ones wait in the socket's backlog; clients see both as
connected and not yet answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable
from typing import Final, Protocol

log = logging.getLogger(__name__)

#: Connections accepted in one turn of the loop.
_AT_ONCE: Final = 64
#: The pause after accept has failed, usually for lack of file descriptors.
_NO_DESCRIPTOR_MS: Final = 1000


class ConnectionRefused(Exception):
    """The connection is refused, and to be closed after ``ms`` milliseconds."""

    def __init__(self, reason: str, ms: int = 0) -> None:
        super().__init__(reason)
        self.ms = ms


class ConnectionRules(Protocol):
    """The limits that a door observes."""

    def arrived(self, listener: str) -> int:
        """Count a new connection in the rates; returns the milliseconds that it has to wait for them."""

    def has_room(self, listener: str) -> bool:
        """Whether the listener may have one more connection."""

    def take(self, listener: str, address: str) -> None:
        """Count a connection as open. Raises ConnectionRefused."""


class ConnectionAcceptor:
    """One listening socket. ``enter`` is called with the socket and address of each connection that is let in."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listening: socket.socket,
        listener: str,
        rules: ConnectionRules,
        enter: Callable[[socket.socket, str], None],
    ) -> None:
        self.listener = listener
        #: When the last connection was accepted, by the loop's time: those that wait have their turns in this order.
        self.accepted_at = 0.0
        self._loop = loop
        self._listening = listening
        self._rules = rules
        self._enter = enter
        self._accepted: tuple[socket.socket, str] | None = None
        self._wait: asyncio.TimerHandle | None = None
        #: Refused connections that are closed after a while, and what closes them.
        self._refused: dict[socket.socket, asyncio.TimerHandle] = {}
        self._is_open = True
        self._read()

    @property
    def descriptor(self) -> int:
        """The descriptor of the listening socket."""
        return self._listening.fileno()

    @property
    def held(self) -> int:
        """The number of accepted sockets that are not let in."""
        return len(self._refused) + (self._accepted is not None)

    def look_again(self) -> None:
        """Let the waiting connection in if there is room now."""
        if self._accepted is not None and self._wait is None and self._rules.has_room(self.listener):
            (accepted, address), self._accepted = self._accepted, None
            self._take(accepted, address)
            self._read()

    def turn_away(self) -> None:
        """Close the waiting connections, accepted or not. Later ones are accepted as before."""
        self._close_held()
        with contextlib.suppress(OSError):
            while True:
                self._listening.accept()[0].close()
        self._read()

    def close(self) -> None:
        """Stop listening, and close the waiting connections."""
        self._is_open = False
        self._loop.remove_reader(self._listening)
        self._close_held()
        self._listening.close()

    def _close_held(self) -> None:
        if self._wait is not None:
            self._wait.cancel()
            self._wait = None
        if self._accepted is not None:
            self._accepted[0].close()
            self._accepted = None
        while self._refused:
            refused, timer = self._refused.popitem()
            timer.cancel()
            refused.close()

    def _read(self) -> None:
        if self._is_open:
            self._loop.add_reader(self._listening, self._readable)

    def _readable(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, peer = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                log.warning("Connections cannot be accepted on listener %s: %s", self.listener, error.strerror)
                self._pause(_NO_DESCRIPTOR_MS)
                return
            accepted.setblocking(False)
            self.accepted_at = self._loop.time()
            if not self._arrived(accepted, peer[0] if isinstance(peer, tuple) else ""):
                return

    def _arrived(self, accepted: socket.socket, address: str) -> bool:
        """Let a connection in or keep it waiting; returns whether the next may be accepted."""
        wait_ms = self._rules.arrived(self.listener)
        if not wait_ms and self._rules.has_room(self.listener):
            self._take(accepted, address)
            return True
        self._accepted = (accepted, address)
        if wait_ms:
            self._pause(wait_ms)
        else:
            self._loop.remove_reader(self._listening)
        return False

    def _pause(self, ms: int) -> None:
        self._loop.remove_reader(self._listening)
        self._wait = self._loop.call_later(ms / 1000, self._go_on)

    def _go_on(self) -> None:
        self._wait = None
        if self._accepted is None:
            self._read()
        else:
            self.look_again()

    def _take(self, accepted: socket.socket, address: str) -> None:
        try:
            self._rules.take(self.listener, address)
        except ConnectionRefused as refused:
            if not refused.ms:
                accepted.close()
                return
            self._refused[accepted] = self._loop.call_later(refused.ms / 1000, self._close, accepted)
        else:
            self._enter(accepted, address)

    def _close(self, accepted: socket.socket) -> None:
        del self._refused[accepted]
        accepted.close()


def taken_over(server: asyncio.Server, backlog: int) -> list[socket.socket]:
    """Close a server of the loop; returns its sockets, which still listen with the same connections in their backlog."""
    sockets = [socket.socket(fileno=os.dup(each.fileno())) for each in server.sockets]
    server.close()
    for each in sockets:
        each.setblocking(False)
        each.listen(backlog)
    return sockets
