"""One HTTP connection: it ends if its client keeps the broker waiting, and first where all connections are taken.

A client owes the rest of a request that it began, or has to take the answer. Else a few clients that send a byte a minute
would hold every connection, and nobody else could ask for health or metrics.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from pykbroker.http.guard import HEADERS, problem
from pykbroker.http.malformed import server_log, what_is_wrong

if TYPE_CHECKING:
    from aiohttp.web_request import BaseRequest

#: For the rest of a body that the answer does not need, so that the client reads the answer first.
_LINGERING_S: Final = 2.0


class HttpConnection(web.RequestHandler):
    """See the module. It has one request at a time in hand. ``others`` are the open connections, itself included, the oldest first."""

    def __init__(self, server: web.Server, patience_s: float, others: dict[HttpConnection, None]) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type] # as aiohttp itself calls it
            logger=server_log(),
            keepalive_timeout=patience_s,
            lingering_time=min(_LINGERING_S, patience_s),
            auto_decompress=False,
        )
        self.patience_s = patience_s
        self._others = others
        others[self] = None
        #: None while the broker works at a request.
        self._idle_since: float | None = self._loop.time()
        self._body_since: float | None = None
        self._untaken_since: float | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._look()  # a client of TLS keeps it waiting before it is made

    @property
    def owes_since(self) -> float | None:
        """Since when the client keeps the broker waiting, by the loop's clock; None while the broker is at work."""
        return self._silent_since if self._body_since is None else self._body_since

    @property
    def _silent_since(self) -> float | None:
        """As ``owes_since``, without the wait for a body, which has an end of its own."""
        return self._idle_since if self._untaken_since is None else self._untaken_since

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """While the broker works at a request."""
        self._idle_since = None
        try:
            yield
        finally:
            self._idle_since = self._loop.time()

    @contextmanager
    def taking_body(self) -> Iterator[None]:
        """While the body of the request in hand is awaited."""
        self._body_since = self._loop.time()
        try:
            yield
        finally:
            self._body_since = None

    def abandon(self) -> None:
        """Close at once; what was not taken of answers is discarded."""
        self._others.pop(self, None)
        transport = self.transport
        self.force_close()
        if transport is not None:
            transport.abort()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._untaken_since = self._loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._untaken_since = None

    def connection_lost(self, exc: BaseException | None) -> None:
        self._others.pop(self, None)
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Give a silent client up, else look again when it may be time."""
        now, since = self._loop.time(), self._silent_since
        due = self.patience_s + (now if since is None else since)
        if due <= now:
            self.abandon()
        else:
            self._watch = self._loop.call_at(due, self._look)

    def handle_error(
        self, request: BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Return an answer like all others, which names no library, in place of the server library's own."""
        if isinstance(exc, UnicodeEncodeError) and not request.headers.get(hdrs.EXPECT, "").isascii():
            # The server library's refusal repeats the header.
            status, exc = 417, HttpProcessingError(code=417, message="nothing but 100-continue can be expected")
        super().handle_error(request, status, exc, message)
        answer = problem(status, what_is_wrong(exc))
        answer.headers.update(HEADERS)
        answer.force_close()
        return answer


@web.middleware
async def at_work(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Tell the connection that the broker works at its request."""
    connection = request.protocol
    assert isinstance(connection, HttpConnection)
    with connection.at_work():
        return await handler(request)


def make_room(connections: Collection[HttpConnection]) -> bool:
    """Close the connection whose client keeps the broker waiting for longest; False if there is none."""
    waiting = [each for each in connections if each.owes_since is not None]
    if not waiting:
        return False
    min(waiting, key=lambda each: each.owes_since or 0).abandon()
    return True
