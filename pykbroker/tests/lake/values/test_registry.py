from __future__ import annotations

import base64
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pykbroker.lake.trouble import LakeError
from pykbroker.lake.values.registry import Registry

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
}  # fmt: skip


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
            self.wfile.write(json.dumps(found).encode() if known else b"who are you?")

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"127.0.0.1:{server.server_port}/base/"
        server.shutdown()
        thread.join()


def test_schemas_come_with_those_that_they_name(address: str) -> None:
    registry = Registry(f"http://me:p%40ss@{address}")
    assert registry.url == f"http://{address}".rstrip("/")
    assert registry.schema(1) == {"type": "AVRO", "text": '"long"', "references": {}}
    found = registry.schema(2)
    assert found == {"type": "PROTOBUF", "text": "message", "references": {"airport": AIRPORT, "leg": LEG}}
    assert list(found["references"]) == ["airport", "leg"]
    assert registry.schema(9) is None


def test_a_registry_that_does_not_answer_as_one_is_told(address: str) -> None:
    with pytest.raises(LakeError, match=r"references gone, version 1, but not this version"):
        Registry(f"http://me:p%40ss@{address}").schema(3)
    with pytest.raises(LakeError, match=r"answered 401 to schemas/ids/1: who are you\?"):
        Registry(f"http://{address}").schema(1)
    with pytest.raises(LakeError, match=r"The registry http://127\.0\.0\.1:1 did not answer"):
        Registry("http://127.0.0.1:1").schema(1)
    with pytest.raises(LakeError, match="'registry:8081' is no URL of a schema registry"):
        Registry("registry:8081")


def answering(answer: bytes) -> str:
    """The URL of a server that answers one request with these bytes and hangs up."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer_once() -> None:
        with server, server.accept()[0] as client:
            client.recv(4096)
            client.sendall(answer)

    threading.Thread(target=answer_once, daemon=True).start()
    return f"http://127.0.0.1:{server.getsockname()[1]}"


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
    url = answering(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    with pytest.raises(LakeError, match="answered schemas/ids/7 with something that is no schema: '"):
        Registry(url).schema(7)


@pytest.mark.parametrize("answer", [b"", b"hello\r\n", b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"sch'])
def test_a_registry_that_hangs_up_is_told(answer: bytes) -> None:
    with pytest.raises(LakeError, match=r"The registry http://127\.0\.0\.1:\d+ did not answer: "):
        Registry(answering(answer)).schema(7)
