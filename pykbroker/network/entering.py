"""Connections that the broker accepts itself: given to the loop, and those accepted that libuv would leave waiting."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.network.connection import Connection

log = logging.getLogger(__name__)

#: Connections accepted in one turn of the loop.
AT_ONCE = 64


def enter(
    loop: asyncio.AbstractEventLoop, connection: Connection, protocol: asyncio.BaseProtocol, accepted: socket.socket
) -> asyncio.Task[bool]:
    """Give an accepted socket to the loop. If the client is gone again, the connection ends as if it had been made."""
    task = loop.create_task(_connect(loop, protocol, accepted))
    task.add_done_callback(partial(_entered, connection, accepted))
    return task


async def _connect(loop: asyncio.AbstractEventLoop, protocol: asyncio.BaseProtocol, accepted: socket.socket) -> bool:
    try:
        await loop.connect_accepted_socket(lambda: protocol, accepted)
    except OSError:  # the client is gone again
        return False
    return True


def _entered(connection: Connection, accepted: socket.socket, task: asyncio.Task[bool]) -> None:
    """Clean up after a failed entry; a callback, since a task that is cancelled before its first step runs no code."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        log.error("Unhandled error in accepting a connection on listener %s", connection.listener, exc_info=error)
    if task.cancelled() or error is not None or not task.result():
        accepted.close()
        connection.connection_lost(None)


def accept_waiting(server: asyncio.Server, take: Callable[[socket.socket], None]) -> None:
    """Take the connections that wait on the sockets of a loop's server, up to AT_ONCE.

    libuv accepts one in each of its turns, and a turn in which others send megabytes is long: of fifty clients that connect together the
    first would be answered many times before the last is accepted.
    """
    _accept(server, AT_ONCE, take)


def turn_away_waiting(server: asyncio.Server, most: int) -> None:
    """Close the connections that wait on the sockets of a loop's server, up to as many as its backlog holds."""
    _accept(server, most, socket.socket.close)


def _accept(server: asyncio.Server, most: int, take: Callable[[socket.socket], None]) -> None:
    for each in server.sockets:
        listening = socket.socket(each.family, each.type, each.proto, fileno=each.fileno())
        try:
            for _ in range(most):
                accepted = listening.accept()[0]
                accepted.setblocking(False)
                take(accepted)
        except OSError:  # none waits, or there is no descriptor: then the loop finds and handles it as well
            pass
        finally:
            listening.detach()
