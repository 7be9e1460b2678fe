"""What is no HTTP: refused, with nothing in the log but for who looks for it."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pykbroker.http.malformed import server_log
from pykbroker.tests.http.http_client import with_http

_NO_HTTP = (
    b"GET /" + b"a" * 10_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 10_000 + b"\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\xff" * 500,
    b"POST /api/v1/reset HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"\x00" * 100 + b"\r\n\r\n",
)


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextmanager
def kept(*names: str) -> Iterator[list[logging.LogRecord]]:
    """What loggers say, down to DEBUG."""
    handler, loggers = _Kept(), [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
    try:
        yield handler.records
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)


def test_it_leaves_no_trace_in_the_log() -> None:
    with with_http() as http, kept("pykbroker.http", "aiohttp") as told:
        for data in _NO_HTTP:
            with socket.create_connection((http.host, http.port), timeout=60) as connection:
                connection.sendall(data)
                assert connection.makefile("rb").readline().split()[1:2] == [b"400"], data[:60]
        assert http.ask("/ready").status == 200
    assert not [record for record in told if record.exc_info or record.levelno > logging.INFO]
    assert sum("is not HTTP" in record.getMessage() for record in told) == len(_NO_HTTP)


def test_what_breaks_off_leaves_no_trace_in_the_log() -> None:
    head = b"POST /api/v1/faults HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with with_http() as http, kept("pykbroker.http", "aiohttp") as told:
        with socket.create_connection((http.host, http.port), timeout=60) as connection:
            connection.sendall(head + b"Content-Length: 9\r\n\r\n{")
            http.kafka.wait_until(lambda _: any(each._body_since for each in http.side._server.connections))
        with socket.create_connection((http.host, http.port), timeout=60) as connection:
            connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}zz\r\n")
            assert connection.makefile("rb").readline().split()[1] == b"400"
        http.kafka.wait_until(lambda _: not http.side._server.connections)
    assert not [record for record in told if record.exc_info or record.levelno > logging.INFO]


def test_an_expectation_that_is_no_text_is_refused_as_any_other_is() -> None:
    with with_http() as http, kept("pykbroker.http", "aiohttp") as told:
        for said, status in ((b"\xff", b"417"), (b"a", b"417"), (b"100-continue", b"100")):
            for path in (b"/health", b"/none", b"/api/v1/topics"):
                with socket.create_connection((http.host, http.port), timeout=60) as connection:
                    connection.sendall(
                        b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nExpect: " + said + b"\r\n\r\n"
                    )
                    assert connection.makefile("rb").readline().split()[1] == status, (said, path)
    assert not [record for record in told if record.exc_info or record.levelno > logging.INFO]


def test_answers_name_no_library() -> None:
    with with_http() as http:
        for data in _NO_HTTP:
            with socket.create_connection((http.host, http.port), timeout=60) as connection:
                connection.sendall(data)
                answer = connection.makefile("rb").read()
                assert b"Server: pykbroker\r\n" in answer
                assert b"X-Content-Type-Options: nosniff\r\n" in answer
                assert b"Content-Type: application/problem+json" in answer
                assert b"aiohttp" not in answer
                assert b"this is not HTTP as it should be: " in answer


def test_what_else_goes_wrong_is_told(caplog: pytest.LogCaptureFixture) -> None:
    server_log().error("Unhandled exception", exc_info=KeyError("ours"))
    (record,) = caplog.records
    assert (record.levelname, record.exc_info is None) == ("ERROR", False)
