"""HTTP connections that are given up at a time: answers of token issuers and schema registries, of which each may be anybody's.

``http.client`` has a timeout for each read: a server that sends one byte a second keeps every read short and the whole endless.
"""

from __future__ import annotations

import http.client
import io
import time
import urllib.request
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ssl import SSLContext


def opener_with_deadline(
    *handlers: urllib.request.BaseHandler, context: SSLContext | None = None
) -> urllib.request.OpenerDirector:
    """An opener of http and https whose ``timeout`` is for the whole answer. After it, a read raises TimeoutError."""
    return urllib.request.build_opener(_Http(), _Https(context=context), *handlers)


def _timed(kind: type[http.client.HTTPConnection], *arguments: Any, **more: Any) -> http.client.HTTPConnection:
    """A connection whose ``timeout`` seconds, counted from now, are for the whole answer."""
    connection = kind(*arguments, **more)
    assert connection.timeout is not None
    connection.response_class = partial(_Response, time.monotonic() + connection.timeout)  # type: ignore[assignment]
    return connection


class _Response(http.client.HTTPResponse):
    def __init__(self, due: float, sock: Any, *arguments: Any, **more: Any) -> None:
        super().__init__(sock, *arguments, **more)
        self.fp.close()
        self.fp = io.BufferedReader(_TimedReads(sock, due))


class _TimedReads(io.RawIOBase):
    """The reads of a socket, all of which end by ``due``."""

    def __init__(self, sock: Any, due: float) -> None:
        self._socket = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._due = due

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._due - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer took too long")
        self._socket.settimeout(left)
        try:
            read: int | None = self._raw.readinto(buffer)
        except TimeoutError:
            raise TimeoutError("the answer took too long") from None
        return read

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_timed, http.client.HTTPConnection), req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, context: SSLContext | None) -> None:
        super().__init__(context=context)
        self._given = context

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_timed, http.client.HTTPSConnection), req, context=self._given)
