"""A listener that takes connections one by one, as limits allow. Imported with the first limit; others are the loop's to take.

As with Kafka one connection is accepted and waits for its turn, further ones wait unaccepted, and to their clients both look the
same: connected, and not answered yet.
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

#: Connections that are accepted in one turn of the loop.
_AT_ONCE: Final = 64
#: Where no descriptor is left, one is asked for again after this time.
_NO_DESCRIPTOR_MS: Final = 1000


class Refused(Exception):
    """A connection is not taken: it is closed, after ``ms`` milliseconds."""

    def __init__(self, reason: str, ms: int = 0) -> None:
        super().__init__(reason)
        self.ms = ms


class Rules(Protocol):
    """What a door asks."""

    def arrived(self, listener: str) -> int:
        """Milliseconds that a connection that arrived has to wait before anything else."""

    def has_room(self, listener: str) -> bool:
        """Whether there is room for one more."""

    def take(self, listener: str, address: str) -> None:
        """Count it. Raises Refused."""


class Door:
    """One listening socket. ``enter`` is handed each connection that is let in, its socket and its address."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listening: socket.socket,
        listener: str,
        rules: Rules,
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
        self._refused: set[socket.socket] = set()
        self._is_open = True
        self._read()

    @property
    def held(self) -> int:
        """Sockets that are here, and not let in."""
        return len(self._refused) + (self._accepted is not None)

    def look_again(self) -> None:
        """There may be room for who waits."""
        if self._accepted is not None and self._wait is None and self._rules.has_room(self.listener):
            (accepted, address), self._accepted = self._accepted, None
            self._take(accepted, address)
            self._read()

    def turn_away(self) -> None:
        """Close those who wait, accepted or not; who comes from now on is as welcome as before."""
        self._close_held()
        with contextlib.suppress(OSError):
            while True:
                self._listening.accept()[0].close()
        self._read()

    def close(self) -> None:
        """Let nobody in any more."""
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
            self._refused.pop().close()

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
                log.warning("No connection can be accepted on listener %s: %s", self.listener, error.strerror)
                self._pause(_NO_DESCRIPTOR_MS)
                return
            accepted.setblocking(False)
            self.accepted_at = self._loop.time()
            if not self._arrived(accepted, peer[0] if isinstance(peer, tuple) else ""):
                return

    def _arrived(self, accepted: socket.socket, address: str) -> bool:
        """Whether the next may come."""
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
        except Refused as refused:
            if not refused.ms:
                accepted.close()
                return
            self._refused.add(accepted)
            self._loop.call_later(refused.ms / 1000, self._close, accepted)
        else:
            self._enter(accepted, address)

    def _close(self, accepted: socket.socket) -> None:
        self._refused.discard(accepted)
        accepted.close()


def taken_over(server: asyncio.Server, backlog: int) -> list[socket.socket]:
    """The sockets of a server, which is closed: they listen, and who is waiting to be accepted goes on waiting."""
    sockets = [socket.socket(fileno=os.dup(each.fileno())) for each in server.sockets]
    server.close()
    for each in sockets:
        each.setblocking(False)
        each.listen(backlog)
    return sockets
