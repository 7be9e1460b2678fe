"""Clients that keep the broker waiting: they are given up, and hold nobody else's place."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from pykbroker.steered.http_options import HttpOptions
from pykbroker.tests.http.http_client import WithHttp, with_http

#: Seconds for what is awaited: a machine may be busy.
_AWAITED_S = 60
_IMPATIENT = HttpOptions("127.0.0.1", 0, patience_s=0.2)
#: Longer than a test.
_PATIENT = HttpOptions("127.0.0.1", 0, patience_s=3600)
_HALF_A_HEAD = b"GET /health HTTP/1.1\r\nHost: local"
_HALF_A_BODY = (
    b"POST /api/v1/faults HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
)
_HALF_A_CHUNK = (
    b"POST /console/api/topics/create HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n{"
)
#: Answers of which more come than anybody buffers.
_MANY = b"GET /console/style.css HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3000
_ANOTHER = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@contextmanager
def connected(http: WithHttp, data: bytes) -> Iterator[socket.socket]:
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(_AWAITED_S)
        connection.connect((http.host, http.port))
        connection.sendall(data)
        yield connection


def rest(connection: socket.socket) -> bytes:
    """What comes until the broker closes the connection."""
    found = b""
    try:
        while some := connection.recv(65536):
            found += some
    except ConnectionResetError:
        pass
    return found


@pytest.mark.parametrize("data", [b"", _HALF_A_HEAD, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" + _HALF_A_HEAD])
def test_who_sends_no_whole_request_is_given_up(data: bytes) -> None:
    with with_http(_IMPATIENT) as http, connected(http, data) as connection:
        assert rest(connection).count(b" 200 OK") == data.count(b"\r\n\r\n")


@pytest.mark.parametrize("data", [_HALF_A_BODY, _HALF_A_CHUNK])
def test_who_sends_half_a_body_is_told_so_and_given_up(data: bytes) -> None:
    with with_http(_IMPATIENT) as http, connected(http, data) as connection:
        answer = rest(connection)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"the body did not come within 0.2 seconds" in answer


def test_who_takes_no_answers_is_given_up() -> None:
    with with_http(_IMPATIENT) as http, connected(http, _MANY):
        http.kafka.wait_until(lambda _: bool(http.side._server.connections))
        http.kafka.wait_until(lambda _: not http.side._server.connections)


@pytest.mark.parametrize("data", [b"", _HALF_A_HEAD, _HALF_A_BODY, _HALF_A_CHUNK, _ANOTHER[:-23], _MANY])
def test_who_keeps_the_broker_waiting_makes_room_for_others(data: bytes) -> None:
    with with_http(_PATIENT) as http, ExitStack() as held:
        for _ in range(32):
            held.enter_context(connected(http, data))
        for _ in range(3):
            assert http.ask("/health").status == 200


def test_the_longest_wait_ends_first() -> None:
    with with_http(_PATIENT) as http, ExitStack() as held:
        oldest, *others = [held.enter_context(connected(http, _HALF_A_HEAD)) for _ in range(33)]
        assert rest(oldest) == b""
        for each in others:
            each.sendall(b"host\r\nConnection: close\r\n\r\n")
            assert b" 200 OK" in rest(each)


def test_nobody_is_awaited_when_the_side_is_closed() -> None:
    with with_http(_PATIENT) as http, ExitStack() as held:
        for data in (_HALF_A_HEAD, _HALF_A_BODY, _MANY):
            held.enter_context(connected(http, data))
        http.kafka.wait_until(lambda _: len(http.side._server.connections) == 3)
        http.kafka._embedded.begin(http.side.close()).result(30)
