"""Every route, asked with what nobody means: it is answered in words, never as an error of ours, and the broker goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from pykbroker.http.api.table import ROUTES
from pykbroker.http.console import router
from pykbroker.tests.http.http_client import WithHttp, with_http
from pykbroker.tests.kit.depth import of_depths

_TEXTS = (
    *(
        "",
        " ",
        "\x00",
        "..",
        "../../etc/passwd",
        "%2e%2e",
        "<script>",
        "'\"",
        "\u202e",
        "\r\nX-Evil: y",
        "t",
        "1",
        "-1",
    ),
    *("1e9", "NaN", "null", "[]", "{}", "9" * 400, "a" * 900, "__consumer_offsets", "true"),
)
_VALUES: tuple[Any, ...] = (
    *_TEXTS,
    *("\ud800", "a" * 70_000, None, True, -1, 0, 1, 2**63, 1.5, 1e308, [], {}, [[]], [{}], [{"name": {}}], {"a": 1}),
)
_WORDS = (
    *(
        "topic",
        "topics",
        "partition",
        "partitions",
        "replicas",
        "configs",
        "name",
        "key",
        "key_base64",
        "value",
        "headers",
    ),
    *(
        "offset",
        "count",
        "group",
        "to",
        "time",
        "of",
        "setting",
        "id",
        "entity",
        "quota",
        "type",
        "pattern",
        "principal",
    ),
    *(
        "host",
        "operation",
        "permission",
        "start",
        "limit",
        "match",
        "state",
        "order",
        "cursor",
        "text",
        "since",
        "until",
    ),
    *("from", "uncommitted", "header", "level", "by", "api", "error", "times", "records"),
)
#: What ends what the others are asked of, or does not end by itself.
_LEFT_OUT = ("/reset", "/restore", "/stop", "/kill", "/tail")


@pytest.fixture(scope="module")
def http() -> Iterator[WithHttp]:
    with with_http() as found:
        found.kafka.create_topic("t", 2)
        found.kafka.produce("t", "x")
        yield found


def routes() -> Iterator[tuple[str, str]]:
    yield from (("GET", f"/console/api{path}") for path in router._LOOKS)
    yield from (("POST", f"/console/api{path}") for path in router._CHANGES)
    yield from ((route.method, f"/api/v1{route.path}") for route in ROUTES)


def test_every_route(http: WithHttp) -> None:
    texts, values = cycle(_TEXTS), cycle(_VALUES)
    for method, path in routes():
        if path.endswith(_LEFT_OUT):
            continue
        for number in range(0, len(_WORDS), of_depths(3, 1, 1)):
            chosen = islice(cycle(_WORDS), number, number + 1 + number % 5)
            answer = _asked(http, method, _filled(path, texts), {word: next(values) for word in chosen})
            assert answer.status < 500, (method, path, answer.text)
            assert "X-Evil" not in answer.headers
            assert "Traceback" not in answer.text
    assert http.ask("/ready").status == 200
    assert http.kafka.topics()["t"] == 2


def _filled(path: str, texts: Iterator[str]) -> str:
    while "{" in path:
        before, _, after = path.partition("{")
        path = before + quote(next(texts), safe="") + after.partition("}")[2]
    return path


def _asked(http: WithHttp, method: str, path: str, said: dict[str, Any]) -> Any:
    if method == "GET":
        words = {name: value if isinstance(value, str) else json.dumps(value) for name, value in said.items()}
        query = urlencode({name: text[:900].encode("utf-8", "surrogatepass") for name, text in words.items()})
        return http.ask(f"{path}?{query}")
    return http.ask(path, method=method, body=json.dumps(said).encode(), headers={"Content-Type": "application/json"})
