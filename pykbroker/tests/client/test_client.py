"""The client's manners with brokers that are not there, not Kafka, old, or silent. Real ones: compat_tests/cli."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from pykbroker.client.client import Client, parse_bootstrap
from pykbroker.client.connection import BrokerConnection
from pykbroker.client.errors import ClientError, Unreachable, UsageError
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.api_versions import ApiVersion, ApiVersionsResponse

Answer = Callable[[bytes], bytes | None]


class Server:
    """Accepts connections one after the other and answers each frame with what ``answer`` makes of it."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, suppress(ConnectionResetError):
                self._serve(connection)

    def _serve(self, connection: socket.socket) -> None:
        while head := connection.recv(4, socket.MSG_WAITALL):
            frame = connection.recv(struct.unpack(">i", head)[0], socket.MSG_WAITALL)
            answer = self._answer(frame)
            if answer is None:
                return
            connection.sendall(answer)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@pytest.fixture
def serve() -> Iterator[Callable[[Answer], int]]:
    """Starts a server and returns its port."""
    servers: list[Server] = []

    def start(answer: Answer) -> int:
        servers.append(Server(answer))
        return servers[-1].port

    yield start
    for server in servers:
        server.close()


def _connect(port: int, timeout_s: float = 10.0) -> BrokerConnection:
    return BrokerConnection("127.0.0.1", port, timeout_s=timeout_s, client_id="test")


def _api_versions(frame: bytes, response: ApiVersionsResponse, version: int) -> bytes:
    out = bytearray(frame[4:8])
    response.encode(out, version)
    return struct.pack(">i", len(out)) + out


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("localhost", [("localhost", 9092)]),
        ("a:1,b:2", [("a", 1), ("b", 2)]),
        (" a:1 , ", [("a", 1)]),
        ("[::1]:9093", [("::1", 9093)]),
        ("[::1]", [("::1", 9092)]),
    ],
)
def test_bootstrap(text: str, servers: list[tuple[str, int]]) -> None:
    assert parse_bootstrap(text) == servers


@pytest.mark.parametrize("text", ["", ",", "a:", "a:b", ":9092", "a:0", "a:70000", "a:-1"])
def test_what_is_no_bootstrap(text: str) -> None:
    with pytest.raises(UsageError):
        parse_bootstrap(text)


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with Client([("127.0.0.1", port)], timeout_s=5) as client, pytest.raises(Unreachable) as caught:
        client.any()
    assert f"Cannot connect to 127.0.0.1:{port}: Connection refused." in caught.value.message
    assert "Is the broker running?" in caught.value.message


def test_a_server_that_closes(serve: Callable[[Answer], int]) -> None:
    with pytest.raises(Unreachable, match="closed the connection"):
        _connect(serve(lambda _frame: None))


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x01\x00\x02\x02\x46", b"\0\0\0\4abcd"]
)
def test_a_server_that_is_not_kafka(serve: Callable[[Answer], int], answer: bytes) -> None:
    with pytest.raises(ClientError, match="does not speak Kafka's plain protocol"):
        _connect(serve(lambda _frame: answer))


def test_a_server_that_says_nothing(serve: Callable[[Answer], int]) -> None:
    with pytest.raises(Unreachable, match=r"did not answer within 0\.05 s"):
        _connect(serve(lambda _frame: b""), timeout_s=0.05)


def test_an_older_broker_is_asked_again_in_its_version(serve: Callable[[Answer], int]) -> None:
    asked = []

    def answer(frame: bytes) -> bytes:
        version = struct.unpack_from(">h", frame, 2)[0]
        asked.append(version)
        keys = [ApiVersion(ApiKey.API_VERSIONS, 0, 2), ApiVersion(ApiKey.METADATA, 0, 5), ApiVersion(9999, 0, 1)]
        refused = version > 2
        code = ErrorCode.UNSUPPORTED_VERSION if refused else ErrorCode.NONE
        return _api_versions(frame, ApiVersionsResponse(error_code=code, api_keys=keys), 0 if refused else version)

    connection = _connect(serve(answer))
    assert asked == [4, 2]
    assert connection.version(ApiKey.METADATA) == 5
    assert connection.version(ApiKey.METADATA, 3) == 3
    assert not connection.supports(ApiKey.PRODUCE)
    with pytest.raises(ClientError, match="does not offer the API Produce"):
        connection.version(ApiKey.PRODUCE)
    connection.close()


def test_errors_that_pass_are_tried_again() -> None:
    outcomes: list[ErrorCode | None] = [ErrorCode.NOT_COORDINATOR, ErrorCode.LEADER_NOT_AVAILABLE, None]

    def action() -> str:
        if code := outcomes.pop(0):
            raise KafkaError(code)
        return "done"

    assert Client([("127.0.0.1", 1)], timeout_s=10).retrying(action) == "done"


@pytest.mark.parametrize(
    ("code", "final"),
    [(ErrorCode.INVALID_TOPIC_EXCEPTION, ()), (ErrorCode.NOT_COORDINATOR, (ErrorCode.NOT_COORDINATOR,))],
)
def test_errors_that_stay_are_not(code: ErrorCode, final: tuple[ErrorCode, ...]) -> None:
    calls = []

    def action() -> None:
        calls.append(1)
        raise KafkaError(code)

    with pytest.raises(KafkaError):
        Client([("127.0.0.1", 1)], timeout_s=10).retrying(action, final=final)
    assert len(calls) == 1


def test_retries_end() -> None:
    def action() -> None:
        raise KafkaError(ErrorCode.NOT_COORDINATOR)

    with pytest.raises(KafkaError):
        Client([("127.0.0.1", 1)], timeout_s=0.1).retrying(action)
