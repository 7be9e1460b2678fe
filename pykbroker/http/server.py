"""A listening HTTP server on the broker's loop, with bounded connections."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from aiohttp import web

from pykbroker.http.connection import HttpConnection, make_room
from pykbroker.network.binding import create_server
from pykbroker.process import listening
from pykbroker.process.log_directories import StartFailed

if TYPE_CHECKING:
    from ssl import SSLContext

#: For requests in hand when the server is closed.
_SHUTDOWN_S: Final = 5.0
_BACKLOG: Final = 100


class _RefusedHttp(asyncio.Protocol):
    """A connection beyond the limit, while the broker is at work for all others."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


class WebServer:
    """Serves an application on one address. ``patience_s`` is how long a client may be idle."""

    def __init__(self, app: web.Application, patience_s: float, most_connections: int) -> None:
        self._runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=_SHUTDOWN_S)
        self._patience_s = patience_s
        self._most_connections = most_connections
        self._server: asyncio.Server | None = None
        self.connections: dict[HttpConnection, None] = {}

    async def open(self, host: str, port: int, option: str, tls: SSLContext | None = None) -> str:
        """Listen; returns the address. Raises StartFailed, which names the ``option`` to change, if it cannot be bound."""
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        try:
            self._server = await create_server(loop, self._protocol, [host], port, backlog=_BACKLOG, tls=tls)
        except OSError as error:
            why = listening.why(error, host, port, option)
            raise StartFailed(f"cannot listen for HTTP on {listening.address(host, port)}: {why}") from error
        return listening.address(host, self._server.sockets[0].getsockname()[1])

    def _protocol(self) -> asyncio.BaseProtocol:
        server = self._runner.server
        if server is None:
            return _RefusedHttp()
        if len(self.connections) >= self._most_connections and not make_room(self.connections):
            return _RefusedHttp()
        return HttpConnection(server, self._patience_s, self.connections)

    def stop_listening(self) -> bool:
        """Accept no more connections; False if it did not listen."""
        server, self._server = self._server, None
        if server is None:
            return False
        server.close()
        return True

    async def close(self) -> None:
        """Close idle connections, and wait for the requests in hand."""
        self.stop_listening()
        while make_room(self.connections):
            pass
        await self._runner.cleanup()
