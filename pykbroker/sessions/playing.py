"""Replays a recorded session against a broker: sends its requests in order and compares the responses.

A request is sent as soon as what came before it has happened, not at the pace of the recording. A response is awaited
where it came in the recording, so that a long poll is still open when the record is produced that completes it.
"""

from __future__ import annotations

import base64
from collections import deque
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from pykbroker.client.frames import FrameSocket, connect, now
from pykbroker.sessions.comparing import Comparing, Played
from pykbroker.sessions.recording import api_key, read_answer
from pykbroker.sessions.session import BadSession, RecordedExchange, Session
from pykbroker.sessions.values import struct
from pykbroker.wire.apis import ApiKey, request_class
from pykbroker.wire.batch_header import BatchHeader, iter_batches, write_batch_header
from pykbroker.wire.errors import WireError
from pykbroker.wire.frames import FrameWriter
from pykbroker.wire.headers import RequestHeader, decode_response_header, encode_request_header
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataResponse

TIMEOUT_S: Final = 30.0
_METADATA_VERSION: Final = 1  # supported by every broker since 0.10, and lists the brokers


def play(path: str | Path, bootstrap_servers: str, *, timeout_s: float = TIMEOUT_S) -> Played:
    """Replay a file against a broker and return the differences.

    A response that does not come within ``timeout_s`` is a difference. Raises BadSession, OSError for a file or a
    broker that is not there, and ValueError if the session has more brokers.
    """
    file = Path(path)
    session = Session.read(file)
    with ExitStack() as stack:
        return _Player(file, session, _brokers(session, bootstrap_servers, timeout_s), timeout_s, stack).play()


class _Connection:
    """A connection as it was recorded, from its first request on; responses come in request order."""

    def __init__(self, address: tuple[str, int], timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._socket = FrameSocket(connect(*address, now() + timeout_s))
        self.close = self._socket.close
        #: Requests in flight, in order, with the correlation ids of their responses.
        self.waiting: deque[tuple[RecordedExchange, int]] = deque()
        self.sent = 0

    def send(self, frame: bytes) -> None:
        self._socket.send(frame, now() + self._timeout_s)

    def receive(self) -> bytes:
        """See ``FrameSocket``; the timeout is that of the frame as a whole."""
        return self._socket.receive(now() + self._timeout_s)


def _brokers(session: Session, bootstrap_servers: str, timeout_s: float) -> dict[int, tuple[str, int]]:
    """Map the brokers of the recording to those of the cluster, in the order of their ids."""
    host, _, port = bootstrap_servers.split(",", maxsplit=1)[0].rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"{bootstrap_servers!r} is no address of a broker; write host:port")
    connection = _Connection((host.strip("[]"), int(port)), timeout_s)
    try:
        out = FrameWriter()
        encode_request_header(out, RequestHeader(ApiKey.METADATA, _METADATA_VERSION, 0, "pykbroker-play"))
        MetadataRequest(topics=[]).encode(out, _METADATA_VERSION)
        connection.send(b"".join(out.finish()))
        frame = connection.receive()
    finally:
        connection.close()
    _, position = decode_response_header(frame, 0, ApiKey.METADATA, _METADATA_VERSION)
    answer, _ = MetadataResponse.decode(frame, position, _METADATA_VERSION)
    there = sorted((each.node_id, each.host, each.port) for each in answer.brokers)
    if len(there) < len(session.brokers):
        raise ValueError(
            f"the session asked {len(session.brokers)} brokers, and at {bootstrap_servers} there are {len(there)}; "
            "play it against as many"
        )
    return {was: (host, port) for was, (_, host, port) in zip(session.brokers, there, strict=False)}


class _Player:
    def __init__(
        self,
        file: Path,
        session: Session,
        brokers: dict[int, tuple[str, int]],
        timeout_s: float,
        stack: ExitStack,
    ) -> None:
        self._file = file
        self._session = session
        self._brokers = brokers
        self._timeout_s = timeout_s
        self._stack = stack
        self._connections: dict[int, _Connection] = {}
        self._comparing = Comparing()
        self._answers: dict[int, RecordedExchange] = {}

    def play(self) -> Played:
        happened: list[tuple[int, RecordedExchange, bool]] = []
        for exchange in self._session.exchanges:
            happened.append((exchange.requested, exchange, True))
            if exchange.answered is not None:
                happened.append((exchange.answered, exchange, False))
        for _, exchange, asked in sorted(happened, key=lambda each: each[0]):
            if asked:
                self._ask(exchange)
            elif exchange.answer is not None or exchange.closed is not None:
                self._comparing.compare(exchange, self._answer(exchange))
        return self._comparing.played

    def _connection(self, exchange: RecordedExchange) -> _Connection:
        connection = self._connections.get(exchange.connection)
        if connection is None:
            connection = _Connection(self._brokers[exchange.broker], self._timeout_s)
            self._stack.callback(connection.close)
            self._connections[exchange.connection] = connection
        return connection

    def _ask(self, exchange: RecordedExchange) -> None:
        connection = self._connection(exchange)
        try:
            frame = self._frame(exchange, connection.sent)
        except (ValueError, WireError) as error:
            raise BadSession(f"{self._file}:{exchange.line}: {error}") from error
        connection.sent += 1
        try:
            connection.send(frame)
        except OSError:
            return  # the response will say so
        if exchange.answered is None or exchange.answer is not None or exchange.closed is not None:
            connection.waiting.append((exchange, connection.sent - 1))

    def _frame(self, exchange: RecordedExchange, correlation_id: int) -> bytes:
        if exchange.frame is not None:
            data = base64.b64decode(exchange.frame, validate=True)
            return len(data).to_bytes(4, "big") + data
        key = api_key(exchange.api)
        request = struct(request_class(key), self._comparing.translated(exchange.request or {}))
        if key == ApiKey.PRODUCE:
            self._give_producer_ids(request)
        out = FrameWriter()
        encode_request_header(out, RequestHeader(key, exchange.version, correlation_id, exchange.client_id))
        request.encode(out, exchange.version)
        return b"".join(out.finish())

    def _give_producer_ids(self, request: Any) -> None:
        """Replace producer ids, also in record batches."""
        for topic in request.topic_data:
            for partition in topic.partition_data:
                data = bytearray(partition.records or b"")
                for position, header in list(iter_batches(data)):
                    now = self._comparing.current_id("producer_id", header.producer_id)
                    if now != header.producer_id:
                        write_batch_header(data, position, _with_producer(header, now))
                partition.records = bytes(data)

    def _answer(self, exchange: RecordedExchange) -> RecordedExchange:
        """Await the response to a request."""
        connection = self._connection(exchange)
        while exchange.line not in self._answers:
            try:
                self._take(connection, connection.receive())
            except EOFError:
                self._ended(connection, "the broker closed the connection")
            except TimeoutError:
                self._ended(connection, f"no answer within {self._timeout_s:g} s")
            except (OSError, WireError) as error:
                self._ended(connection, str(error))
            if not connection.waiting and exchange.line not in self._answers:
                return _over(exchange, "the connection had ended before")
        return self._answers.pop(exchange.line)

    def _take(self, connection: _Connection, frame: bytes) -> None:
        """Match a response to its request; earlier requests get none. Raises WireError."""
        correlation_id = int.from_bytes(frame[:4], "big", signed=True)
        while connection.waiting:
            waiting, expected = connection.waiting.popleft()
            now = self._answers[waiting.line] = _over(waiting, "no answer")
            if expected == correlation_id or waiting.frame is not None:
                now.closed = None
                if waiting.frame is None:
                    read_answer(now, frame)
                return

    def _ended(self, connection: _Connection, why: str) -> None:
        for waiting, _ in connection.waiting:
            self._answers[waiting.line] = _over(waiting, why)
        connection.waiting.clear()


def _over(exchange: RecordedExchange, closed: str | None) -> RecordedExchange:
    return RecordedExchange(
        *(exchange.line, exchange.requested, exchange.connection, exchange.broker, exchange.at_ms),
        *(exchange.api, exchange.version, exchange.client_id),
        closed=closed,
    )


def _with_producer(header: BatchHeader, producer_id: int) -> BatchHeader:
    header.producer_id = producer_id
    return header
