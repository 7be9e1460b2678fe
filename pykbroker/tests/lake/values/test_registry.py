from __future__ import annotations

import base64
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pykbroker.lake.errors import LakeError
from pykbroker.lake.values.registry import SchemaRegistry, collect_references
from pykbroker.tests.kit.dripping import ENDLESS, dripping

LEG, AIRPORT = '{"name": "Leg"}', '{"name": "Airport"}'
ANSWERS = {
    "/base/schemas/ids/1": {"schema": '"long"'},
    "/base/schemas/ids/2": {
        "schema": "message", "schemaType": "PROTOBUF", "references": [{"name": "leg", "subject": "a/leg", "version": 3}],
    },
    "/base/subjects/a%2Fleg/versions/3": {
        "schema": LEG, "references": [{"name": "airport", "subject": "airport", "version": 1}],
    },
    "/base/subjects/airport/versions/1": {"schema": AIRPORT},
    "/base/schemas/ids/3": {"schema": "x", "references": [{"name": "leg", "subject": "gone", "version": 1}]},
    "/base/schemas/ids/4": {"schema": "x", "references": [{"name": "old", "subject": "old", "version": 2}]},
    "/base/subjects/old/versions/2?deleted=true": {"schema": AIRPORT},
    "/base/schemas/ids/5": {"schema": "x", "references": [{"name": "self", "subject": "self", "version": 1}]},
    "/base/subjects/self/versions/1": {"schema": "x", "references": [{"name": "self", "subject": "self", "version": 1}]},
}  # fmt: skip
NONE_SUCH = {"error_code": 40403, "message": "Schema not found"}


def no_pause(_: float) -> None:
    """The next request is sent at once."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A registry that wants a user, on a path of its own."""
    wanted = "Basic " + base64.b64encode(b"me:p@ss").decode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.headers["Authorization"] == wanted
            found = ANSWERS.get(self.path)
            self.send_response((200 if found else 404) if known else 401)
            self.end_headers()
            answer = json.dumps(found or NONE_SUCH).encode()
            self.wfile.write(answer if known else b"who are you?")

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"127.0.0.1:{server.server_port}/base/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_user_and_password_follow_no_redirect(code: int) -> None:
    heard: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/elsewhere"):
                heard.append(self.headers["Authorization"])
            self.send_response(code)
            self.send_header("Location", f"http://localhost:{server.server_port}/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        with pytest.raises(LakeError, match=r"sends on to .*/elsewhere'"):
            SchemaRegistry(f"http://me:secret@127.0.0.1:{server.server_port}", pause=no_pause).schema(1)
        server.shutdown()
        thread.join()
    assert heard == []


def test_schemas_come_with_those_that_they_name(address: str) -> None:
    registry = SchemaRegistry(f"http://me:p%40ss@{address}")
    assert registry.url == f"http://{address}".rstrip("/")
    assert registry.schema(1) == {"type": "AVRO", "text": '"long"', "references": {}}
    found = registry.schema(2)
    assert found == {"type": "PROTOBUF", "text": "message", "references": {"airport": AIRPORT, "leg": LEG}}
    assert list(found["references"]) == ["airport", "leg"]
    assert registry.schema(9) is None
    of_deleted = registry.schema(4)
    assert of_deleted is not None
    assert of_deleted["references"] == {"old": AIRPORT}


def test_a_registry_that_does_not_answer_as_one_is_told(address: str) -> None:
    with pytest.raises(LakeError, match=r"references gone, version 1, but not this version"):
        SchemaRegistry(f"http://me:p%40ss@{address}").schema(3)
    with pytest.raises(LakeError, match=r"answered 401 to schemas/ids/1: who are you\?"):
        SchemaRegistry(f"http://{address}").schema(1)
    with pytest.raises(LakeError, match=r"The registry http://127\.0\.0\.1:1 did not answer"):
        SchemaRegistry("http://127.0.0.1:1", pause=no_pause).schema(1)
    with pytest.raises(LakeError, match="'registry:8081' is no URL of a schema registry"):
        SchemaRegistry("registry:8081")


def answering(*answers: bytes) -> str:
    """The URL of a server that answers each request with the next of these bytes, the last one to all that follow, and hangs up."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer_all() -> None:
        left = list(answers)
        with server:
            while True:
                with server.accept()[0] as client:
                    client.recv(4096)
                    client.sendall(left.pop(0) if len(left) > 1 else left[0])

    threading.Thread(target=answer_all, daemon=True).start()
    return f"http://127.0.0.1:{server.getsockname()[1]}"


def http(code: int, body: bytes, more: str = "") -> bytes:
    return f"HTTP/1.1 {code} Said\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


SCHEMA = http(200, b'{"schema": "x"}')


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"[]",
        b"{}",
        b"<html>Bad gateway</html>",
        b"\xff\xfe",
        b'{"schema": 5}',
        b'{"schema": "x", "schemaType": 7}',
        b'{"schema": "x", "references": [1]}',
        b'{"schema": "x", "references": [{"name": "leg", "subject": "leg", "version": "1"}]}',
        b'{"schema": "x", "references": 5}',
    ],
)
def test_what_is_no_schema_ends_the_job_and_is_not_taken_for_one(body: bytes) -> None:
    """A proxy before the registry may answer anything. What is taken for a schema is stored for good."""
    url = answering(http(200, body))
    with pytest.raises(LakeError, match="answered schemas/ids/7 with something that is no schema: '"):
        SchemaRegistry(url).schema(7)


@pytest.mark.parametrize("answer", [b"", b"hello\r\n", b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"sch'])
def test_a_registry_that_hangs_up_is_told(answer: bytes) -> None:
    with pytest.raises(
        LakeError, match=r"The registry http://127\.0\.0\.1:\d+ did not answer: (?s:.*) schemas/ids/7 6 times"
    ):
        SchemaRegistry(answering(answer), pause=no_pause).schema(7)


@pytest.mark.parametrize(
    "fault",
    [*(http(code, b"later") for code in (408, 429, 500, 502, 503, 504)), b"", SCHEMA[:-3]],
)
def test_a_fault_that_passes_is_waited_for_and_one_that_stays_ends_the_job(fault: bytes) -> None:
    pauses: list[float] = []
    found = SchemaRegistry(answering(*[fault] * 5, SCHEMA), pause=pauses.append).schema(7)
    assert found == {"type": "AVRO", "text": "x", "references": {}}
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0]
    with pytest.raises(
        LakeError, match=r"7 6 times\. Run this again when the registry answers: no record was quarantined"
    ):
        SchemaRegistry(answering(*[fault] * 6, SCHEMA), pause=no_pause).schema(7)


def test_a_registry_says_how_long_it_wants_to_be_left_alone() -> None:
    pauses: list[float] = []
    faults = (http(429, b"", f"Retry-After: {wait}\r\n") for wait in ("7", "100000", "tomorrow"))
    SchemaRegistry(answering(*faults, SCHEMA), pause=pauses.append).schema(7)
    assert pauses == [7, 60, 2]


@pytest.mark.parametrize("body", [b"", b"Not here", b"[]", b'{"error_code": 404, "message": "HTTP 404 Not Found"}'])
def test_what_a_proxy_does_not_find_is_no_missing_schema(body: bytes) -> None:
    """Else all records would be quarantined because of a wrong URL."""
    with pytest.raises(LakeError, match=r"answered 404 to schemas/ids/7: .* look whether the URL is the registry's"):
        SchemaRegistry(answering(http(404, body))).schema(7)
    for code in (40401, 40402, 40403):
        assert SchemaRegistry(answering(http(404, b'{"error_code": %d}' % code))).schema(7) is None


@pytest.mark.parametrize(("beginning", "piece"), ENDLESS)
def test_an_answer_in_drops_is_not_waited_for_forever(beginning: bytes, piece: bytes) -> None:
    """Each drop comes within the timeout of a socket."""
    with dripping(beginning, piece) as url, pytest.raises(LakeError, match="did not answer: the answer took too long"):
        SchemaRegistry(url, timeout_s=0.05, pause=no_pause).schema(7)


def test_a_refusal_in_drops_is_not_waited_for_forever() -> None:
    refusal = b"HTTP/1.1 404 Said\r\nContent-Length: 1000000\r\n\r\n"
    with dripping(refusal, b" ") as url, pytest.raises(LakeError, match="answered 404 to schemas/ids/7"):
        SchemaRegistry(url, timeout_s=0.05, pause=no_pause).schema(7)


def test_an_answer_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pykbroker.lake.values.registry._MOST_BYTES", 15)
    assert SchemaRegistry(answering(SCHEMA)).schema(7) == {"type": "AVRO", "text": "x", "references": {}}
    monkeypatch.setattr("pykbroker.lake.values.registry._MOST_BYTES", 5)
    with pytest.raises(LakeError, match="answered schemas/ids/7 with more than 5 bytes"):
        SchemaRegistry(answering(SCHEMA)).schema(7)


def test_references_without_number_are_given_up() -> None:
    """Each schema has three that nobody has asked for yet, twenty deep."""
    asked = 0

    def version(subject: str, depth: int) -> dict[str, object]:
        nonlocal asked
        asked += 1
        assert asked < 10_000
        names = [f"{subject}{number}" for number in range(3 if depth < 20 else 0)]
        return {"schema": "x", "references": [{"name": name, "subject": name, "version": depth + 1} for name in names]}

    with pytest.raises(LakeError, match="more than 2000 references"):
        collect_references(version("", 1), {}, version)


def test_references_in_a_circle_end(address: str) -> None:
    with pytest.raises(LakeError, match="more than 50 deep"):
        SchemaRegistry(f"http://me:p%40ss@{address}", pause=no_pause).schema(5)
