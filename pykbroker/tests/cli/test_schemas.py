"""``pykbroker schemas`` on a registry of a running broker, and on one that answers whatever it likes."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

pytest.importorskip("avro")
pytest.importorskip("grpc_tools")

from pykbroker.testing import Kafka
from pykbroker.tests.cli.conftest import Result
from pykbroker.tests.kit.dripping import ENDLESS, dripping
from pykbroker.tests.kit.hostile import WORD

Run = Callable[..., Result]
USER = '{"type":"record","name":"User","fields":[{"name":"name","type":"string"}]}'
OLDER = USER.replace("]}", ',{"name":"age","type":"int"}]}')


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Kafka(schema_registry=True) as kafka:
        yield kafka.schema_registry_url


def test_the_life_of_a_subject(run: Run, url: str, tmp_path: Path) -> None:
    at = ("--registry", url)
    user, older = tmp_path / "user.avsc", tmp_path / "older.avsc"
    user.write_text(USER)
    older.write_text(OLDER)
    assert run("schemas", "register", "u", str(user), *at).out.splitlines() == ["u has it with the id 1"]
    assert run("schemas", "list", *at).out.splitlines() == ["SUBJECT\tVERSION\tID\tTYPE", "u\t1\t1\tAVRO"]
    assert json.loads(run("schemas", "show", "u", *at).out) == json.loads(USER)
    checked = run("schemas", "check", "u", str(older), *at)
    assert (checked.status, checked.out.splitlines()[0]) == (1, "not compatible")
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in checked.out
    refused = run("schemas", "register", "u", str(older), *at)
    assert (refused.status, "refuses this (409)" in refused.err) == (1, True)
    assert run("schemas", "delete", "u", "--version", "1", *at).out.splitlines() == ["u: deleted 1"]
    assert run("schemas", "register", "u", str(older), *at).status == 0
    assert json.loads(run("schemas", "show", "u", "--json", *at).out)["version"] == 2
    assert "not found" in run("schemas", "diff", "u", "1", *at).err
    assert run("schemas", "register", "u", str(user), *at).status == 0
    assert '-      "name": "age",' in run("schemas", "diff", "u", "2", "3", *at).out.splitlines()
    assert run("schemas", "delete", "u", *at).out.splitlines() == ["u: deleted 2, 3"]
    assert run("schemas", "delete", "u", "--permanent", *at).status == 0


def test_references(run: Run, url: str, tmp_path: Path) -> None:
    point, line = tmp_path / "point.proto", tmp_path / "line.proto"
    point.write_text('syntax = "proto3"; message P { int32 x = 1; }')
    line.write_text('syntax = "proto3"; import "point.proto"; message L { P p = 1; }')
    assert run("schemas", "register", "p", str(point), "-r", url).status == 0
    assert run("schemas", "register", "l", str(line), "-r", url, "--reference", "point.proto=p:1").status == 0
    assert run("schemas", "register", "l", str(line), "-r", url, "--reference", "point.proto=p").status == 2


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("show", "s", "-r", "ftp://x"), 2, "is no URL of a schema registry"),
        (("show", "s", "-r", "http://127.0.0.1:1"), 3, "cannot be asked"),
        (("show", "s", "-r", "http://127.0.0.1:99999"), 2, "is no URL of a schema registry"),
        (("show", "s", "-r", "http://127.0.0.1:port"), 2, "is no URL of a schema registry"),
        (("show", "s", "-r", "http://[::1"), 2, "is no URL of a schema registry"),
        (("show", "s", "-r", "http://a b"), 2, "is no URL of a schema registry"),
        (("show", "s", "-r", "http://127.0.0.1:1/\x1b"), 2, "is no URL of a schema registry"),
        (("show", "s", "-r", f"http://{'a' * 70}:1"), 3, "cannot be asked"),
        (("register", "s", "file.txt", "-r", "http://127.0.0.1:1"), 2, "give --type"),
        (("register", "s", "nowhere.avsc", "-r", "http://127.0.0.1:1"), 1, "cannot be read"),
    ],
)
def test_what_cannot_be_is_said(run: Run, words: tuple[str, ...], status: int, said: str) -> None:
    result = run("schemas", *words)
    assert (result.status, said in result.err) == (status, True), result.err


@pytest.mark.parametrize(
    "words", [("show", "NAME"), ("show", "s", "--version", "NAME"), ("delete", "NAME"), ("diff", "NAME", "1")]
)
@pytest.mark.parametrize("name", ["\udcff", "\x1b[31m", "../..", "a/b?c#d", "%2F"], ids=ascii)
def test_a_name_of_any_bytes_is_looked_for(run: Run, url: str, words: tuple[str, ...], name: str) -> None:
    result = run("schemas", *(name if each == "NAME" else each for each in words), "-r", url)
    assert (result.status, "refuses this (40" in result.err or "refuses this (42" in result.err) == (1, True), (
        result.err
    )
    assert "\x1b" not in result.err


ANSWERS = [
    (
        200,
        {
            "schema": WORD,
            "schemaType": WORD,
            "version": WORD,
            "id": WORD,
            "subject": WORD,
            "messages": [WORD],
            "is_compatible": False,
        },
    ),
    (200, [{"subject": WORD, "version": WORD, "id": WORD, "schemaType": WORD}, WORD]),
    (200, WORD),
    (404, {"error_code": WORD, "message": WORD}),
    (302, {"message": WORD}),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=["object", "list", "text", "error", "redirect"])
@pytest.mark.parametrize(
    "words",
    [("list",), ("show", "s"), ("register", "s", "F"), ("check", "s", "F"), ("diff", "s", "1"), ("delete", "s")],
    ids=lambda words: words[0],
)
def test_words_of_a_hostile_registry_are_escaped(
    run: Run, tmp_path: Path, words: tuple[str, ...], answer: tuple[int, object]
) -> None:
    file = tmp_path / "f.avsc"
    file.write_text(USER)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            body = json.dumps(answer[1]).encode()
            self.send_response(answer[0])
            self.send_header("Location", "http://127.0.0.1:1/")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_DELETE = do_GET

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        result = run(
            "schemas",
            *(str(file) if each == "F" else each for each in words),
            "-r",
            f"http://127.0.0.1:{server.server_port}",
        )
        server.shutdown()
    assert "Traceback" not in result.err
    assert result.status in (0, 1)
    assert not any(each in result.out + result.err for each in "\x1b\x9b\u202e")


def test_an_answer_that_is_cut_is_none(run: Run) -> None:
    def answer(server: socket.socket) -> None:
        with server.accept()[0] as client:
            client.recv(4096)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[1]")

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=answer, args=(server,), daemon=True).start()
        result = run("schemas", "delete", "s", "-r", f"http://127.0.0.1:{server.getsockname()[1]}")
    assert (result.status, "cannot be asked: IncompleteRead" in result.err) == (3, True), result.err


@pytest.mark.parametrize(("beginning", "piece"), ENDLESS)
def test_a_registry_that_never_ends_is_given_up(run: Run, beginning: bytes, piece: bytes) -> None:
    """Each drop comes within the timeout of a socket."""
    with dripping(beginning, piece) as url:
        result = run("schemas", "list", "-r", url, "--timeout", "0.2")
    assert (result.status, "the answer took too long" in result.err) == (3, True), result.err
