"""Schemas of a registry: asked for once, by nothing but an id, and whatever it answers harms nobody."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest

from pykbroker.steered.http_options import HttpOptions
from pykbroker.tests.http.console.registry import Answers, registry
from pykbroker.tests.http.http_client import WithHttp, with_http


@pytest.fixture(scope="module")
def there() -> Iterator[tuple[WithHttp, Answers]]:
    with registry() as answers, with_http(HttpOptions("127.0.0.1", 0, schema_registry=answers.url + "/")) as http:
        yield http, answers


def test_schemas_by_id_each_asked_for_once(there: tuple[WithHttp, Answers]) -> None:
    http, answers = there
    answers.schema(7, schema='"string"')
    answers.schema(8, schema='syntax = "proto3";', schemaType="PROTOBUF", references=[])
    answers.schema(2**31 - 1, schema="{}", schemaType="JSON")
    for _ in range(2):
        assert http.look("/schema", id=7) == {"id": 7, "kind": "avro", "text": '"string"'}
        assert http.look("/schema", id=8)["kind"] == "protobuf"
        assert http.look("/schema", id=2**31 - 1)["kind"] == "json"
    assert answers.asked == ["/schemas/ids/7", "/schemas/ids/8", "/schemas/ids/2147483647"]
    http.kafka.create_topic("with-schemas")
    assert http.look("/topic", topic="with-schemas")["registry"] is True


@pytest.mark.parametrize("number", ["", "x", "-1", "2147483648", "7/../8", "7?x", "%2e%2e", "1e3", "\u0667"])
def test_no_id_is_asked_for(there: tuple[WithHttp, Answers], number: str) -> None:
    http, answers = there
    before = list(answers.asked)
    assert http.refusal("/schema", id=number)[0] == 400
    assert answers.asked == before


@pytest.mark.parametrize(
    ("status", "said", "answer"),
    [
        (404, "has no schema", (404, {}, b"")),
        (502, "answers 500", (500, {}, b"<script>")),
        (502, "answers 302", (302, {"Location": "/elsewhere"}, b"")),
        (502, "no JSON", (200, {}, b"<script>")),
        (502, "no JSON", (200, {}, b"[" * 100_000)),
        (502, "no JSON", (200, {"Content-Encoding": "gzip"}, gzip.compress(b'{"schema": "1"}'))),
        (502, "no schema of", (200, {}, b"[]")),
        (502, "no schema of", (200, {}, b'{"schema": 1}')),
        (502, "no schema of", (200, {}, b'{"schema": "x", "schemaType": "XML"}')),
        (502, "no schema of", (200, {}, b'{"schema": "x", "schemaType": []}')),
        (502, "more than 1048576 bytes", (200, {}, b" " * (1024 * 1024 + 1))),
        (422, "refers to others", (200, {}, b'{"schema": "x", "references": [{"name": "y"}]}')),
    ],
)
def test_answers_that_are_none(
    there: tuple[WithHttp, Answers], status: int, said: str, answer: tuple[int, dict[str, str], bytes]
) -> None:
    http, answers = there
    answers.raw(99, answer[2], answer[0], **answer[1])
    answers.asked.clear()
    for _ in range(2):  # nothing of it is kept
        refused = http.refusal("/schema", id=99)
        assert (refused[0], said in refused[1]) == (status, True), refused
    assert answers.asked == ["/schemas/ids/99"] * 2


def test_text_that_cannot_be_sent_on_is_made_so(there: tuple[WithHttp, Answers]) -> None:
    http, answers = there
    answers.raw(50, b'{"schema": "\\ud800"}')
    assert http.look("/schema", id=50)["text"] == "?"


def test_a_registry_that_is_not_there() -> None:
    with with_http(HttpOptions("127.0.0.1", 0, schema_registry="http://127.0.0.1:1")) as http:
        status, why = http.refusal("/schema", id=1)
        assert (status, "http://127.0.0.1:1 cannot be asked" in why) == (502, True)


def test_without_one_nobody_is_asked() -> None:
    with with_http() as http:
        http.kafka.create_topic("t")
        assert http.look("/topic", topic="t")["registry"] is False
        status, why = http.refusal("/schema", id=1)
        assert (status, "--schema-registry URL" in why) == (404, True)
