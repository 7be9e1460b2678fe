"""Brokers that are none, for any client: each goes on with its attack until the client hangs up."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from pykbroker.wire.headers import begin_response, decode_request_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from pykbroker.wire.messages.metadata import MetadataRequest
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

#: The length of a frame before the client has proved who it is, or the broker.
HUGE = (1 << 31) - 1
_APIS = {MetadataRequest: 12, ApiVersionsRequest: 3, SaslHandshakeRequest: 1, SaslAuthenticateRequest: 2}


class Hostile:
    """Serves every connection by ``attack``; ``sent`` are the bytes of the attack that it got rid of."""

    def __init__(self, attack: Callable[[Hostile, socket.socket], object]) -> None:
        self._attack = attack
        self._ended = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.sent = 0
        self.attacked = 0
        #: The first attack has begun.
        self.begun = threading.Event()

    @contextmanager
    def running(self) -> Iterator[Hostile]:
        accepting = threading.Thread(target=self._accept)
        accepting.start()
        try:
            yield self
        finally:
            self._ended.set()
            self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
            accepting.join()

    def _accept(self) -> None:
        serving = []
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                client.settimeout(0.5)  # so that it sees that it is to end
                serving.append(threading.Thread(target=self._serve, args=(client,)))
                serving[-1].start()
        for thread in serving:
            thread.join()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            self._attack(self, client)

    def request(self, client: socket.socket) -> bytes:
        """The next request. Raises OSError where there is none."""
        return self._exactly(client, int.from_bytes(self._exactly(client, 4), "big"))

    def _exactly(self, client: socket.socket, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                piece = client.recv(size - len(data))
            except TimeoutError:
                piece = b"" if self._ended.is_set() else None
            if piece is None:
                continue
            if not piece:
                raise ConnectionResetError
            data += piece
        return data

    def begin(self) -> None:
        """Count an attack."""
        self.attacked += 1
        self.begun.set()

    def until_it_hangs_up(self, client: socket.socket, piece: bytes, pause_s: float = 0) -> None:
        """Send pieces, with a pause after each."""
        self.begin()
        while not self._ended.wait(pause_s):
            with suppress(TimeoutError):
                self.sent += client.send(piece)


def _answer(client: socket.socket, frame: bytes, message: Message) -> None:
    client.sendall(_framed(frame, message))


def _framed(frame: bytes, message: Message) -> bytes:
    header = decode_request_header(frame, 0)[0]
    out = begin_response(header.api_key, header.api_version, header.correlation_id)
    message.encode(out, header.api_version)
    return b"".join(bytes(each) for each in out.finish())


def _versions() -> ApiVersionsResponse:
    return ApiVersionsResponse(api_keys=[ApiVersion(each.API_KEY, 0, version) for each, version in _APIS.items()])


def handshaken(hostile: Hostile, client: socket.socket) -> bytes:
    """No attack: answer until it authenticates, and return its first message."""
    while True:
        frame = hostile.request(client)
        header, _ = decode_request_header(frame, 0)
        if header.api_key == ApiVersionsRequest.API_KEY:
            _answer(client, frame, _versions())
        elif header.api_key == SaslHandshakeRequest.API_KEY:
            _answer(client, frame, SaslHandshakeResponse(mechanisms=["SCRAM-SHA-256", "OAUTHBEARER"]))
        else:
            return frame


def _challenge(hostile: Hostile, client: socket.socket, iterations: int) -> None:
    frame = handshaken(hostile, client)
    header, position = decode_request_header(frame, 0)
    request = SaslAuthenticateRequest.decode(frame, position, header.api_version)[0]
    found = re.search(rb"r=([^,]+)", bytes(request.auth_bytes))
    assert found is not None
    challenge = b"r=%bof-broker,s=c2FsdA==,i=%d" % (found[1], iterations)
    _answer(client, frame, SaslAuthenticateResponse(auth_bytes=challenge))
    hostile.begin()
    hostile.request(client)


def endless_iterations(hostile: Hostile, client: socket.socket) -> None:
    """A challenge of SCRAM whose answer takes many minutes to compute."""
    _challenge(hostile, client, 10**9)


def many_iterations(hostile: Hostile, client: socket.socket) -> None:
    """A challenge with as many iterations as our client computes, and then no answer."""
    _challenge(hostile, client, 10**6)
    hostile.request(client)


def silence(hostile: Hostile, client: socket.socket) -> None:
    """No request is answered."""
    hostile.request(client)
    hostile.begin()
    hostile.request(client)


def a_byte_a_second(hostile: Hostile, client: socket.socket) -> None:
    """The answer to the first request has 100,000 bytes, and they come one a second."""
    hostile.request(client)
    client.sendall((100_000).to_bytes(4, "big"))
    hostile.until_it_hangs_up(client, b"\0", 1)


def a_huge_length(hostile: Hostile, client: socket.socket) -> None:
    """The answer to the first request has two gigabytes, as fast as it is read."""
    hostile.request(client)
    client.sendall(HUGE.to_bytes(4, "big"))
    hostile.until_it_hangs_up(client, bytes(1 << 20))


ATTACKS = (endless_iterations, a_byte_a_second, a_huge_length)
