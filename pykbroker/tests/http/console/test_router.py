"""What does not come in: pages of others, what is no JSON, too much of it, and words that mean nothing."""

from __future__ import annotations

import json
import socket

import pytest

from pykbroker.steered.http_options import HttpOptions
from pykbroker.tests.http.http_client import WithHttp, with_http

_JSON = {"Content-Type": "application/json"}
_CREATE = json.dumps({"topic": "evil", "partitions": 1}).encode()
_CHANGES = (
    *("/topics/create", "/topics/delete", "/topics/partitions", "/topics/empty", "/records/produce"),
    *("/groups/delete", "/groups/reset", "/transactions/abort", "/settings/alter"),
    *("/acls/add", "/acls/remove", "/quotas/alter"),
)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://127.0.0.1", "http://127.0.0.1:1", "null", "", "http://localhost:{port}"]
)
def test_a_page_of_others_changes_nothing(http: WithHttp, origin: str) -> None:
    headers = {**_JSON, "Origin": origin.format(port=http.port)}
    for path in _CHANGES:
        assert http.ask(f"/console/api{path}", method="POST", body=_CREATE, headers=headers).status == 403, path
    assert "evil" not in http.kafka.topics()


def test_its_own_page_may_behind_a_proxy_that_ends_tls() -> None:
    """The proxy hands on the name by which the browser asked it, as ``--http-name`` says."""
    with with_http(HttpOptions("127.0.0.1", 0, names=frozenset({"console.example"}))) as http:
        behind = {**_JSON, "Host": "console.example", "Origin": "https://console.example"}

        def create(**headers: str) -> int:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return http.ask("/console/api/topics/create", method="POST", body=_CREATE, headers=behind | named).status

        assert create(Origin="https://evil.example") == create(Origin="https://console.example:8443") == 403
        assert create(Origin="http://console.example", Sec_Fetch_Site="cross-site") == 403
        assert create(Host="evil.example", Origin="https://evil.example") == 421
        assert create(Host="evil.example", X_Forwarded_Host="console.example") == 421
        assert create(Host="127.0.0.1") == 403  # a proxy that asks by a name of its own
        assert "evil" not in http.kafka.topics()
        assert create(Sec_Fetch_Site="same-origin") == 200


def test_of_two_origins_neither_is_believed(http: WithHttp) -> None:
    with socket.create_connection((http.host, http.port), timeout=60) as connection:
        mine, body = f"http://{http.host}:{http.port}", _CREATE.decode()
        lines = ["POST /console/api/topics/create HTTP/1.1", f"Host: {http.host}:{http.port}", "Connection: close"]
        lines += [f"Origin: {mine}", "Origin: http://evil.example", "Content-Type: application/json"]
        connection.sendall("\r\n".join([*lines, f"Content-Length: {len(body)}", "", body]).encode())
        assert connection.makefile("rb").readline().split()[1] == b"403"
    assert "evil" not in http.kafka.topics()


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_form_changes_nothing(http: WithHttp, kind: str) -> None:
    """These a browser sends without asking."""
    for path in _CHANGES:
        answer = http.ask(f"/console/api{path}", method="POST", body=_CREATE, headers={"Content-Type": kind})
        assert answer.status == 415, path
    assert "evil" not in http.kafka.topics()


def test_no_change_is_a_look(http: WithHttp) -> None:
    """What an image or a link of any page may ask."""
    for path in _CHANGES:
        for method in ("GET", "HEAD", "PUT", "DELETE"):
            assert http.ask(f"/console/api{path}?topic=evil", method=method).status == 405, path
    assert http.ask("/console/api/topics", method="POST", body=b"{}", headers=_JSON).status == 405


def test_by_the_name_of_another_nobody_is_told_anything(http: WithHttp) -> None:
    """DNS rebinding: the browser believes that the broker is evil.example."""
    for path in ("/overview", "/topics", "/settings?of=broker&name=1"):
        answer = http.ask(f"/console/api{path}", headers={"Host": "evil.example"})
        assert (answer.status, "--http-name evil.example" in answer.json["title"]) == (421, True)
    headers = {**_JSON, "Host": "evil.example", "Origin": "http://evil.example"}
    assert http.ask("/console/api/topics/create", method="POST", body=_CREATE, headers=headers).status == 421


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"[]", b"null", b'"text"', b'{"a": ' + b"9" * 5000 + b"}"]
)
def test_what_is_no_object_of_json(http: WithHttp, body: bytes) -> None:
    answer = http.ask("/console/api/topics/create", method="POST", body=body, headers=_JSON)
    assert (answer.status, answer.headers["Content-Type"].partition(";")[0]) == (400, "application/problem+json")


def test_a_body_that_is_too_large_is_refused(http: WithHttp) -> None:
    body = b" " * (8 * 1024 * 1024 + 1)
    assert http.ask("/console/api/topics/create", method="POST", body=body, headers=_JSON).status == 413


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/topics", {"limit": "0"}),
        ("/topics", {"limit": "201"}),
        ("/topics", {"limit": "1e3"}),
        ("/topics", {"start": "-1"}),
        ("/topics", {"start": "9" * 30}),
        ("/topics", {"match": "x" * 250}),
        ("/partitions", {}),
        ("/records", {"topic": "there", "order": "any"}),
        ("/records", {"topic": "there", "limit": "201"}),
        ("/records", {"topic": "there", "cursor": "x"}),
        ("/records", {"topic": "there", "cursor": "0.0"}),
        ("/records", {"topic": "there", "cursor": "-1.0.5"}),
        ("/records", {"topic": "there", "cursor": "_".join(["0.0.9"] * 129)}),
        ("/records", {"topic": "there", "partitions": "a"}),
        ("/records", {"topic": "there", "partitions": "0-"}),
        ("/records", {"topic": "there", "text": "hex:zz"}),
        ("/records", {"topic": "there", "text": "x" * 1025}),
        ("/records", {"topic": "there", "since": "yesterday"}),
        ("/records", {"topic": "there", "uncommitted": "maybe"}),
        ("/settings", {"of": "broker", "name": "../1"}),
        ("/settings", {"of": "everything", "name": "1"}),
    ],
)
def test_words_that_mean_nothing(http: WithHttp, path: str, query: dict[str, str]) -> None:
    if "there" not in http.kafka.topics():
        http.kafka.create_topic("there")
    status, title = http.refusal(path, **query)
    assert (status, bool(title)) == (400, True), title


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"topic": 1},
        {"topic": ["t"]},
        {"topic": "t", "partitions": "many"},
        {"topic": "t", "partitions": True},
        {"topic": "t", "partitions": -2},
        {"topic": "t", "partitions": 2**60},
        {"topic": "t", "configs": {"name": "x"}},
        {"topic": "t", "configs": [1]},
        {"topic": "t", "configs": [{"name": "x"}]},
        {"topic": "t", "configs": [{}] * 101},
        {"topic": "\ud800"},
    ],
)
def test_bodies_that_mean_nothing(http: WithHttp, body: dict[str, object]) -> None:
    assert http.changed("/topics/create", **body).status == 400


def test_a_name_that_is_none_is_refused_as_kafka_does(http: WithHttp) -> None:
    for name in ("<script>alert(1)</script>", "../../etc", "..", "", "a b"):
        answer = http.changed("/topics/create", topic=name, partitions=1)
        assert (answer.status, answer.json["title"].partition(":")[0]) == (409, "INVALID_TOPIC_EXCEPTION")
        assert answer.headers["Content-Type"].startswith("application/problem+json")


def test_paths_that_are_none(http: WithHttp) -> None:
    for path in ("", "/", "/nothing", "/topics/", "/topics/../topics", "/topics/create/now", "//topics"):
        assert http.ask(f"/console/api{path}").status in (404, 405), path
