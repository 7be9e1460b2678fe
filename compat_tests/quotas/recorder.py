"""A port in front of a broker that writes down what its clients were answered, how much that was, and how long they were told to wait."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from pykbroker.wire.apis import ApiKey
from pykbroker.wire.headers import decode_request_header, decode_response_header
from pykbroker.wire.messages.fetch import FetchResponse
from pykbroker.wire.messages.produce import ProduceResponse

_RESPONSES: Final = {int(ApiKey.PRODUCE): ProduceResponse, int(ApiKey.FETCH): FetchResponse}


class Answer(NamedTuple):
    """To a Produce or a Fetch. ``asked_at`` and ``at`` are in seconds, no later and no sooner than the broker was asked and has answered;
    ``size`` is what quotas count: of a Produce the request, of a Fetch this.
    """

    requested_at: float
    at: float
    api_key: int
    size: int
    throttle_ms: int


class _Requested(NamedTuple):
    client: str
    api_key: int
    version: int
    size: int
    at: float


class Recorder:
    """See the module. The broker tells its clients that it is at ``port``, which is there before the broker is."""

    def __init__(self) -> None:
        self._answers: dict[str, list[Answer]] = defaultdict(list)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._threads: list[threading.Thread] = []

    def begin(self, broker: int) -> None:
        """Let clients in, to the broker at that port."""
        self._start(self._accept, broker)

    def close(self) -> None:
        """Clients, or the broker, have ended."""
        self._listening.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listening.close()

    def answers(self, client: str) -> list[Answer]:
        """So far, to a client id."""
        return list(self._answers[client])

    def _start(self, work: Callable[..., None], *arguments: Any) -> threading.Thread:
        thread = threading.Thread(target=work, args=arguments)
        self._threads.append(thread)
        thread.start()
        return thread

    def _accept(self, broker: int) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._start(self._pass_on, client, broker)

    def _pass_on(self, client: socket.socket, broker: int) -> None:
        waiting: deque[_Requested] = deque()
        with client, socket.create_connection(("127.0.0.1", broker)) as server:
            for each in (client, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            the_client = self._start(_until_closed, self._ask, client, server, waiting)
            _until_closed(self._answer, client, server, waiting)
            the_client.join()

    def _ask(self, client: socket.socket, server: socket.socket, waiting: deque[_Requested]) -> None:
        while True:
            frame = _frame(client)
            header, _ = decode_request_header(memoryview(frame), 4)
            waiting.append(
                _Requested(header.client_id or "", header.api_key, header.api_version, len(frame), time.monotonic())
            )
            server.sendall(frame)

    def _answer(self, client: socket.socket, server: socket.socket, waiting: deque[_Requested]) -> None:
        while True:
            frame = _frame(server)
            requested = waiting.popleft()
            if requested.api_key in _RESPONSES:
                self._answers[requested.client].append(_answer(requested, frame))
            client.sendall(frame)


def _until_closed(
    pump: Callable[..., None], client: socket.socket, server: socket.socket, waiting: deque[_Requested]
) -> None:
    with contextlib.suppress(OSError, EOFError):
        pump(client, server, waiting)
    for each in (client, server):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def _frame(source: socket.socket) -> bytes:
    size = _exactly(source, 4)
    return size + _exactly(source, int.from_bytes(size, "big"))


def _exactly(source: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = source.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return bytes(data)


def _answer(requested: _Requested, frame: bytes) -> Answer:
    view = memoryview(frame)
    _, at = decode_response_header(view, 4, requested.api_key, requested.version)
    response, _ = _RESPONSES[requested.api_key].decode(view, at, requested.version)
    size = requested.size if requested.api_key == ApiKey.PRODUCE else len(frame)
    return Answer(requested.at, time.monotonic(), requested.api_key, size, response.throttle_time_ms)
