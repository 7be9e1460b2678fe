"""A raw connection: one request out, one frame in, decoded by ``wire`` and by nothing else."""

from __future__ import annotations

import select
import socket
import ssl
import struct

from pykbroker.wire.apis import response_class
from pykbroker.wire.headers import RequestHeader, decode_response_header, encode_request_header
from pykbroker.wire.message import Message

CLIENT_ID = "oracle"
_LIMIT_S = 20.0


class Closed(Exception):
    """The broker closed the connection instead of answering."""


class Connection:
    """A socket to one broker. Answers are taken in the order of the requests, as Kafka sends them."""

    def __init__(
        self, address: str, client_id: str = CLIENT_ID, *, source: str | None = None, patience_s: float = _LIMIT_S
    ) -> None:
        """``source`` is the address of this machine that it comes from, where that matters."""
        host, port = address.rsplit(":", 1)
        self._host = host
        #: Of the broker; another connection may be made to it.
        self.address = address
        self._socket = socket.create_connection((host, int(port)), patience_s, None if source is None else (source, 0))
        self._correlation_id = 0
        self._client_id = client_id

    def encrypt(self, context: ssl.SSLContext) -> None:
        """From now on all is said over TLS, to a broker whose certificate is for its host."""
        self._socket = context.wrap_socket(self._socket, server_hostname=self._host)

    def send(self, request: Message, version: int) -> int:
        """Sends a request; returns its correlation id, for ``receive``."""
        self._correlation_id += 1
        frame = bytearray()
        encode_request_header(
            frame, RequestHeader(type(request).API_KEY, version, self._correlation_id, self._client_id)
        )
        request.encode(frame, version)
        self.send_raw(bytes(frame))
        return self._correlation_id

    def send_raw(self, frame: bytes, *, size: int | None = None) -> None:
        """Sends bytes as a frame; ``size`` may lie about their number."""
        self._socket.sendall(struct.pack(">i", len(frame) if size is None else size) + frame)

    def has_news(self, limit_s: float) -> bool:
        """Whether something is received, or it is closed, within so many seconds."""
        return bool(select.select([self._socket], [], [], limit_s)[0])

    def receive_raw(self) -> bytes:
        """The next frame. Raises Closed where the broker ends the connection."""
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def receive(self, api_key: int, version: int, correlation_id: int) -> Message:
        """The answer to a request; asserts that it is the answer to that one and has no byte too many."""
        frame = self.receive_raw()
        seen, position = decode_response_header(frame, 0, api_key, version)
        assert seen == correlation_id, f"answer {seen} came in place of {correlation_id}"
        response, end = response_class(api_key).decode(frame, position, version)
        assert end == len(frame), f"{len(frame) - end} bytes follow the answer"
        return response

    def ask(self, request: Message, version: int) -> Message:
        """Sends and receives."""
        return self.receive(type(request).API_KEY, version, self.send(request, version))

    def fileno(self) -> int:
        """For ``select``: many connections may be waited for at once."""
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                piece = self._socket.recv(size - len(data))
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise Closed
            data += piece
        return bytes(data)
