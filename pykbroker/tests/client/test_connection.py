"""Connections to hostile brokers, over loopback: none holds its client, or fills its memory, before it has proved who it is.

Each hostile broker gives in after a while, so that a client without bounds fails the test instead of never ending it.
"""

from __future__ import annotations

import itertools
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from pykbroker.client.connection import BrokerConnection
from pykbroker.client.errors import ClientError, Unreachable
from pykbroker.security.client.login import Login, Mechanism
from pykbroker.security.client.plain import PlainLogin
from pykbroker.security.client.scram import ScramLogin
from pykbroker.security.client.settings import ClientSecurity
from pykbroker.wire.headers import begin_response, decode_request_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

PATIENCE_S = 0.4
PAUSE_S = 0.02
#: Pieces after which a hostile broker gives in: five times the patience.
PIECES = int(5 * PATIENCE_S / PAUSE_S)
APIS = (SaslHandshakeRequest, SaslAuthenticateRequest, DescribeClusterRequest)

Serve = Callable[[socket.socket], None]


@contextmanager
def broker(serve: Serve) -> Iterator[int]:
    """The port of one that ``serve``s one connection."""

    def run() -> None:
        with suppress(OSError), listening.accept()[0] as client:
            serve(client)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=run)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


def drip(client: socket.socket, data: bytes) -> None:
    """A byte at a time; all the rest at once after PIECES of them."""
    ended = threading.Event()
    for number in range(min(len(data), PIECES)):
        client.sendall(data[number : number + 1])
        ended.wait(PAUSE_S)
    client.sendall(data[PIECES:])


def asked(client: socket.socket) -> bytes:
    size = int.from_bytes(client.recv(4, socket.MSG_WAITALL), "big")
    if not size:
        raise ConnectionResetError
    return client.recv(size, socket.MSG_WAITALL)


def response(frame: bytes, message: Message) -> bytes:
    header = decode_request_header(frame, 0)[0]
    out = begin_response(header.api_key, header.api_version, header.correlation_id)
    message.encode(out, header.api_version)
    return b"".join(out.finish())


def versions() -> ApiVersionsResponse:
    return ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=each.API_KEY, min_version=0, max_version=1) for each in APIS]
        + [ApiVersion(api_key=number, min_version=0, max_version=1) for number in range(1000, 1000 + PIECES)]
    )


def answers(*messages: Message, slowly: int) -> Serve:
    """Answers requests with these messages, and the one of this number a byte at a time."""

    def serve(client: socket.socket) -> None:
        for number, message in enumerate(messages):
            data = response(asked(client), message)
            if number == slowly:
                drip(client, data)
            else:
                client.sendall(data)

    return serve


def connect(port: int, security: ClientSecurity | None = None) -> BrokerConnection:
    return BrokerConnection("127.0.0.1", port, timeout_s=PATIENCE_S, client_id="test", security=security)


def signing_in(login: Callable[[], Login]) -> ClientSecurity:
    return ClientSecurity("SASL_PLAINTEXT", sasl=Mechanism("SCRAM-SHA-256", "alice", lambda _: login()))


LONG = "x" * 1000


@pytest.mark.parametrize(("slowly", "messages"), [
    (0, (versions(),)),
    (1, (versions(), SaslHandshakeResponse(mechanisms=[LONG]))),
    (2, (versions(), SaslHandshakeResponse(mechanisms=[]), SaslAuthenticateResponse(auth_bytes=b"x" * 1000))),
])  # fmt: skip
def test_a_byte_at_a_time_ends_the_connecting(slowly: int, messages: tuple[Message, ...]) -> None:
    with broker(answers(*messages, slowly=slowly)) as port, pytest.raises(Unreachable, match=r"within 0\.4 s"):
        connect(port, signing_in(lambda: PlainLogin("alice", "secret")))


def test_a_byte_at_a_time_ends_a_request() -> None:
    answer = DescribeClusterResponse(cluster_id=LONG)
    with broker(answers(versions(), answer, slowly=1)) as port:
        connection = connect(port)
        with pytest.raises(Unreachable, match=r"within 0\.4 s"):
            connection.call(DescribeClusterRequest(), DescribeClusterResponse)
        assert connection.fileno() == -1  # who replaces it does not close it


def test_a_connection_that_the_broker_closes_is_closed() -> None:
    with broker(answers(versions(), slowly=-1)) as port:
        connection = connect(port)
        with pytest.raises(Unreachable):  # it is closed before the request arrives, or after
            connection.call(DescribeClusterRequest(), DescribeClusterResponse)
        assert (connection.broken, connection.fileno()) == (True, -1)


def test_a_byte_at_a_time_ends_the_handshake_of_tls() -> None:
    record = b"\x16\x03\x03\x40\x00" + b"\x02\x00\x3f\xfc\x03\x03" + b"x" * 16378

    def serve(client: socket.socket) -> None:
        client.recv(65536)
        drip(client, record)

    security = ClientSecurity("SSL", ssl.create_default_context())
    with broker(serve) as port, pytest.raises(Unreachable, match="did not answer the TLS handshake in time"):
        connect(port, security)


def test_many_short_steps_are_one_long_connecting() -> None:
    """Each answer comes in time, and there are ever more of them."""

    class Endless:
        def first(self) -> bytes:
            return b"x"

        def answer(self, challenge: bytes) -> bytes:
            return b"x"

    def serve(client: socket.socket) -> None:
        client.sendall(response(asked(client), versions()))
        client.sendall(response(asked(client), SaslHandshakeResponse()))
        for _ in itertools.repeat(None, PIECES):
            frame = asked(client)
            threading.Event().wait(PAUSE_S)
            client.sendall(response(frame, SaslAuthenticateResponse()))

    with broker(serve) as port, pytest.raises(Unreachable, match=r"within 0\.4 s"):
        connect(port, signing_in(Endless))


@pytest.mark.parametrize("begun", [0, 1, 2])
def test_no_more_than_half_a_megabyte_is_read_of_a_broker_that_has_proved_nothing(begun: int) -> None:
    sent = [0]

    def serve(client: socket.socket) -> None:
        for message in (versions(), SaslHandshakeResponse())[:begun]:
            client.sendall(response(asked(client), message))
        asked(client)
        client.sendall((255 << 20).to_bytes(4, "big"))
        for _ in range(64):
            client.sendall(bytes(1 << 20))
            sent[0] += 1

    with broker(serve) as port, pytest.raises(ClientError, match="does not speak Kafka's plain protocol"):
        connect(port, signing_in(lambda: PlainLogin("alice", "secret")))
    assert sent[0] < 32  # what the system's buffers take


@pytest.mark.parametrize("iterations", [1_000_001, 999_999_999, 1_000_000_000, 10**30])
def test_no_broker_makes_a_client_compute_for_hours(iterations: int) -> None:
    def serve(client: socket.socket) -> None:
        client.sendall(response(asked(client), versions()))
        client.sendall(response(asked(client), SaslHandshakeResponse()))
        challenge = f"r=nonceof-broker,s=c2FsdA==,i={iterations}".encode()
        client.sendall(response(asked(client), SaslAuthenticateResponse(auth_bytes=challenge)))
        with suppress(OSError):
            asked(client)

    login = signing_in(lambda: ScramLogin("SCRAM-SHA-256", "alice", "secret", "nonce"))
    with (
        broker(serve) as port,
        pytest.raises(ClientError, match=r"at most 1000000 are computed|not valid SCRAM"),
    ):
        connect(port, login)


def test_every_address_of_a_host_has_its_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with broker(answers(versions(), slowly=-1)) as port, socket.create_server(("127.0.0.1", 0)) as other:
        closed = other.getsockname()
        other.close()
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", each) for each in (closed, ("127.0.0.1", port))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        connect(port).close()
