"""Binds listening sockets to addresses."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ssl import SSLContext


def is_uvloop(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether a loop is uvloop's, without importing it."""
    return type(loop).__module__ == "uvloop"


async def create_server(
    loop: asyncio.AbstractEventLoop,
    protocol: Callable[[], asyncio.BaseProtocol],
    hosts: Sequence[str] | None,
    port: int,
    *,
    backlog: int,
    start_serving: bool = True,
    tls: SSLContext | None = None,
) -> asyncio.Server:
    """As ``loop.create_server``. On uvloop a single address is bound without resolving it, for which libuv starts four threads: a
    forked child would wait for them at its end, where it has none; and ASCII is passed as bytes, since encoding text imports
    IDNA, a hundredth of a start. Raises OSError.
    """
    if not is_uvloop(loop) or hosts is None:
        return await loop.create_server(protocol, hosts, port, backlog=backlog, start_serving=start_serving, ssl=tls)
    family = _family(hosts[0]) if len(hosts) == 1 else None
    if family is None:
        names: list[str] = [name.encode() if name.isascii() else name for name in hosts]  # type: ignore[misc]  # uvloop takes bytes
        return await loop.create_server(protocol, names, port, backlog=backlog, start_serving=start_serving, ssl=tls)
    made = _bound(family, (hosts[0], port))
    return await loop.create_server(protocol, sock=made, backlog=backlog, start_serving=start_serving, ssl=tls)


def _family(host: str) -> socket.AddressFamily | None:
    """The family of an address; None for a name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError):
            socket.inet_pton(family, host)
            return family
    return None


def _bound(family: int, address: Any) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made


def bound_again(addresses: Iterable[tuple[int, Any]]) -> list[socket.socket]:
    """Sockets bound to the addresses, given with their families, of closed listeners. They refuse connections, and no connection
    of this machine gets their ports meanwhile. What cannot be bound is left out.
    """
    found: list[socket.socket] = []
    for family, address in addresses:
        with contextlib.suppress(OSError):
            found.append(_bound(family, address))
    return found
