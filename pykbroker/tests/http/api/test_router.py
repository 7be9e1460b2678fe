"""What does not come in: pages of others, what is no JSON, too much of it, and paths that are none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pykbroker.steered.http_options import HttpOptions
from pykbroker.tests.http.http_client import WithHttp, with_http

_JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def http() -> Iterator[WithHttp]:
    with with_http() as http:
        yield http


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://127.0.0.1", "http://127.0.0.1:1", "null", "", "http://localhost:{port}"]
)
def test_a_page_of_others_changes_nothing(http: WithHttp, origin: str) -> None:
    answer = http.send("POST", "/faults", {"api": "*", "drop": True}, Origin=origin.format(port=http.port))
    assert (answer.status, "may change nothing here" in answer.json["title"]) == (403, True)
    assert http.send("GET", "/faults").json == {"faults": []}


def test_a_page_of_the_broker_itself_may() -> None:
    with with_http() as http:
        address = f"127.0.0.1:{http.port}"
        assert http.send("POST", "/faults", {"api": "*", "drop": True}, Origin=f"http://{address}").status == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_form_changes_nothing(http: WithHttp, kind: str) -> None:
    """These a browser sends without asking."""
    for method, path in (("POST", "/api/v1/faults"), ("DELETE", "/api/v1/faults"), ("POST", "/api/v1/reset")):
        body = b'{"api": "*", "drop": true}'
        assert http.ask(path, method=method, body=body, headers={"Content-Type": kind}).status == 415
    assert http.send("GET", "/faults").json == {"faults": []}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 60_000, "no JSON"),
        (b'{"api": ' + b"9" * 5000 + b"}", "no JSON"),
        (b"[]", "an object of JSON"),
        (b"null", "an object of JSON"),
        (b'{"evil": "<script>"}', "evil"),
    ],
)
def test_what_is_no_object_of_json(http: WithHttp, body: bytes, said: str) -> None:
    answer = http.ask("/api/v1/faults", method="POST", body=body, headers=_JSON)
    assert (answer.status, answer.headers["Content-Type"].partition(";")[0]) == (400, "application/problem+json")
    assert said in answer.json["title"]


def test_a_body_that_is_too_large_is_not_read(http: WithHttp) -> None:
    body = b" " * (16 * 1024 * 1024 + 1)
    assert http.ask("/api/v1/reset", method="POST", body=body, headers=_JSON).status == 413


def test_paths_that_are_none(http: WithHttp) -> None:
    for path in ("/", "", "/nothing", "/faults/", "/faults/1/2", "/faults/../../etc/passwd", "//faults", "/snapshots"):
        answer = http.send("GET", path)
        assert answer.status == (200 if path == "/snapshots" else 404), path
    for path in ("/faults/1e3", "/faults/%31%00", "/faults/" + "9" * 30):
        assert http.send("GET", path).status == 400, path
    refused = http.send("PUT", "/faults")
    assert (refused.status, refused.headers["Allow"]) == (405, "DELETE,GET,POST")
    assert http.send("GET", "/reset").status == http.send("HEAD", "/faults").status == 405
    assert http.send("GET", "/requests?apy=Produce").status == 400


def test_what_guards_metrics_guards_it_too() -> None:
    with with_http(HttpOptions("127.0.0.1", 0, token="0123456789abcdef")) as http:
        assert http.send("GET", "/faults").status == http.send("POST", "/reset").status == 401
        assert http.send("GET", "/openapi.json").status == 401
        assert http.send("GET", "/faults", Authorization="Bearer 0123456789abcdef").status == 200
    with with_http() as http:
        assert http.send("POST", "/reset", Host="evil.example").status == 421


def test_time_that_passes_by_itself_is_not_moved(http: WithHttp) -> None:
    answer = http.send("POST", "/clock/advance", {"by": "1s"})
    assert (answer.status, "by itself" in answer.json["title"]) == (409, True)
    assert http.send("GET", "/clock").json["kind"] == "real"


def test_data_that_stay_are_not_forgotten(tmp_path) -> None:
    with with_http(data_dir=tmp_path) as http:
        http.kafka.create_topic("t")
        assert http.send("PUT", "/snapshots/one").status == 200
        for path in ("/reset", "/snapshots/one/restore"):
            answer = http.send("POST", path)
            assert (answer.status, "data" in answer.json["title"]) == (409, True)
        assert http.kafka.topics() == {"t": 1}
