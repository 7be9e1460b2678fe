"""Requests whose end a proxy and the broker could see at different places: refused, and what follows is no request."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator

import pytest

from pykbroker.tests.http.http_client import WithHttp, with_http

_FAULT = b'{"api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER"}'
_HEAD = b"POST /api/v1/faults HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
#: What is hidden behind the first request.
_HIDDEN = _HEAD + b"Content-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(_FAULT), _FAULT)
_CHUNKS = b"2\r\n{}\r\n0\r\n\r\n"
_LENGTHS = (
    b"Content-Length: 2\r\nContent-Length: 400",
    b"Content-Length: 2\r\nContent-Length: 2",
    b"Content-Length: 2, 2",
    b"Content-Length: +2",
    b"Content-Length: 0x2",
    b"Content-Length: 0_2",
    b"Content-Length : 2",
    b"Content-Length:\r\n 2",
    b"Content-Length: 2\x00",
)
_ENCODINGS = (
    b"Content-Length: 12\r\nTransfer-Encoding: chunked",
    b"Transfer-Encoding: chunked\r\nContent-Length: 12",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    b"Transfer-Encoding: chunked, identity",
    b"Transfer-Encoding: identity",
    b"Transfer-Encoding: xchunked",
    b"Transfer-Encoding: \x0bchunked",
    b"Transfer-Encoding : chunked",
    b"Transfer-Encoding:\r\n chunked",
    b"X: y\rTransfer-Encoding: chunked",
)
_BAD_CHUNKS = (
    b"-2\r\n{}",
    b"0x2\r\n{}",
    b"2 \x0b\r\n{}",
    b"f" * 16 + b"2\r\n{}",
    b"2\n{}\n0\n\n",
    b"2\r\n{}xx",
    b"\r\n{}",
)
_REQUESTS = {
    **{length: _HEAD + length + b"\r\n\r\n{}" for length in _LENGTHS},
    **{encoding: _HEAD + encoding + b"\r\n\r\n" + _CHUNKS for encoding in _ENCODINGS},
    **{chunk: _HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunk + b"\r\n0\r\n\r\n" for chunk in _BAD_CHUNKS},
    b"lines that end with LF alone": b"GET /api/v1/faults HTTP/1.1\nHost: localhost\n\n",
    b"two names": b"GET /api/v1/faults HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
}


@pytest.fixture(scope="module")
def http() -> Iterator[WithHttp]:
    with with_http() as found:
        yield found


def answered(http: WithHttp, data: bytes) -> list[bytes]:
    """The status of each answer, until the broker closes."""
    with socket.create_connection((http.host, http.port), timeout=60) as connection:
        connection.sendall(data)
        return re.findall(rb"HTTP/1\.[01] ([0-9]{3}) ", connection.makefile("rb").read())


def test_a_request_that_follows_another_is_one(http: WithHttp) -> None:
    assert answered(http, _HEAD + b"Content-Length: 2\r\n\r\n{}" + _HIDDEN) == [b"400", b"200"]
    headers = {"Content-Type": "application/json"}
    assert http.ask("/api/v1/faults", method="DELETE", headers=headers, body=b"{}").status == 200


@pytest.mark.parametrize("request_", _REQUESTS.values(), ids=[repr(name)[2:-1] for name in _REQUESTS])
def test_nothing_hides_behind_a_request_without_one_end(http: WithHttp, request_: bytes) -> None:
    assert answered(http, request_ + _HIDDEN) == [b"400"]
    assert http.ask("/api/v1/faults").json["faults"] == []


def test_nothing_hides_in_a_body_that_nobody_reads(http: WithHttp) -> None:
    for path in (b"/metrics", b"/none", b"/console/"):
        head = b"GET %b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
        assert len(answered(http, head % (path, len(_HIDDEN)) + _HIDDEN)) == 1, path
    assert http.ask("/api/v1/faults").json["faults"] == []
