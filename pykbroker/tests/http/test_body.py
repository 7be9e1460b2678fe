"""Bodies of requests: bounded in size, never unpacked, and parsed without holding up clients."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from typing import Any

import pytest

from pykbroker.http.api.table import ROUTES
from pykbroker.http.body import parsed
from pykbroker.http.console import router
from pykbroker.runtime.json_text import loads
from pykbroker.tests.http.http_client import Asked, WithHttp, with_http

_JSON = {"Content-Type": "application/json"}


def test_each_route_takes_what_it_needs_and_no_more() -> None:
    with with_http() as http:
        for path in router._CHANGES:
            most = 8 * 1024 * 1024 if path == "/records/produce" else 256 * 1024
            assert _answered(http, "POST", f"/console/api{path}", b" " * (most + 1)) == 413
        for route in ROUTES:
            if route.changes and not route.takes and "{" not in route.path:
                assert _answered(http, route.method, f"/api/v1{route.path}", b" " * (64 * 1024 + 1)) == 413


def _answered(http: WithHttp, method: str, path: str, body: bytes) -> int:
    return http.ask(path, method=method, body=body, headers=_JSON).status


def test_large_bodies_are_parsed_as_small_ones_are() -> None:
    value = {"text": "\u00e9\U0001f600" * 30_000, "list": [1, -2.5, True, None], "inner": {"a": "b"}}
    with with_http() as http:
        http.kafka.create_topic("t")
        http.change("/records/produce", topic="t", value=json.dumps(value, ensure_ascii=False))
        (record,) = http.kafka.records("t")
        assert json.loads(record.text or "") == value
        for body in (b'{"topic": ' + b" " * 100_000, b'{"a": ' + b"[" * 100_000, b'"' + b"x" * 100_000 + b'"'):
            assert _answered(http, "POST", "/console/api/records/produce", body) == 400


@pytest.mark.parametrize("more", [b"", b" " * 100_000], ids=["small", "large"])
@pytest.mark.parametrize("number", [b"NaN", b"-Infinity", b"1e999"])
def test_numbers_that_json_lacks_are_refused(number: bytes, more: bytes) -> None:
    body = b'{"partitions": ' + number + b"}" + more
    with with_http() as http:
        answer = http.ask("/console/api/topics/create", method="POST", body=body, headers=_JSON)
    assert (answer.status, "the body is no JSON: " in answer.json["title"]) == (400, True)


def test_bodies_are_never_unpacked() -> None:
    """A small body may be large once it is, and who has no token could have the broker unpack it."""
    packed = gzip.compress(b" " * 10_000_000)
    head = {**_JSON, "Content-Encoding": "gzip"}
    with with_http() as http:
        for path in ("/api/v1/faults", "/api/v1/seeds", "/console/api/topics/create"):
            for body in (packed, b"{}"):
                answer = http.ask(path, method="POST", body=body, headers=head)
                assert (answer.status, answer.json["title"]) == (
                    415,
                    "a body is sent as it is, without Content-Encoding",
                )


def test_large_texts_of_others_are_parsed_beside_the_loop() -> None:
    async def turns_of_others(raw: bytes) -> int:
        turns, loop = 0, asyncio.get_running_loop()

        def turn() -> None:
            nonlocal turns
            turns += 1
            loop.call_soon(turn)

        loop.call_soon(turn)
        assert await parsed(raw) == json.loads(raw)
        return turns

    assert asyncio.run(turns_of_others(b"[1]")) == 0
    assert asyncio.run(turns_of_others(b"[" + b"{}," * 30_000 + b"{}]")) > 0


def test_large_bodies_leave_clients_their_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record of many small parts: the usual parser lets nobody else run before its end, but for some turns before it begins."""
    body = b'{"topic": "t", "value": [' + b"{}," * 500_000 + b"{}]}"
    is_parsing = False

    def noted(text: str) -> Any:
        nonlocal is_parsing
        is_parsing = True
        try:
            return loads(text)
        finally:
            is_parsing = False

    async def meanwhile(http: WithHttp) -> tuple[Asked, int]:
        """The answer, and the turns of the broker's loop while the body was parsed."""
        path, turns = "/console/api/records/produce", 0
        asked = asyncio.ensure_future(asyncio.to_thread(http.ask, path, method="POST", body=body, headers=_JSON))
        while not asked.done():
            await asyncio.sleep(0)
            turns += is_parsing
        return await asked, turns

    monkeypatch.setattr("pykbroker.http.body.loads", noted)
    interval = sys.getswitchinterval()
    with with_http() as http:
        http.kafka.create_topic("t")
        http.ask("/console/api/topics")
        sys.setswitchinterval(1e-6)  # threads take turns many times, on fast machines, too
        try:
            answer, turns = http.kafka._embedded.begin(meanwhile(http)).result()
        finally:
            sys.setswitchinterval(interval)
    assert (answer.status, answer.json["title"]) == (400, "'value' is required, as text")
    assert turns > 20_000
