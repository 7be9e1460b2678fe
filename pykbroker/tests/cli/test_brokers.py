"""``pykbroker brokers`` against a socket that answers as told; compat_tests/brokers has the real one."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pykbroker.steered.control import SOCKET

BROKERS = [{"id": 1, "state": "running", "address": "127.0.0.1:9092", "leads": 3}]


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Callable[[bytes], list[bytes]]]:
    """``door(answer)`` answers one request; what was asked is in the list it returns."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(tmp_path / SOCKET))
    listening.listen()
    threads = []

    def serve(answer: bytes) -> list[bytes]:
        asked: list[bytes] = []

        def once() -> None:
            connection, _ = listening.accept()
            with connection, connection.makefile("rb") as lines:
                asked.append(lines.readline())
                connection.sendall(answer)

        threads.append(threading.Thread(target=once))
        threads[-1].start()
        return asked

    yield serve
    for thread in threads:
        thread.join()
    listening.close()


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        (["list"], {"command": "listBrokers"}),
        (["stop", "2"], {"command": "stopBroker", "id": 2}),
        (["stop", "2", "--abrupt"], {"command": "killBroker", "id": 2}),
        (["start", "2"], {"command": "startBroker", "id": 2}),
    ],
)
def test_what_is_asked_and_shown(run, door, tmp_path, words, request_):
    asked = door(json.dumps({"brokers": BROKERS}).encode() + b"\n")
    result = run("brokers", *words, "--data-dir", str(tmp_path))
    assert (result.status, json.loads(asked[0])) == (0, request_)
    assert result.out.splitlines() == ["BROKER\tSTATE\tADDRESS\tLEADS", "1\trunning\t127.0.0.1:9092\t3"]


def test_json(run, door, tmp_path):
    door(json.dumps({"brokers": BROKERS}).encode() + b"\n")
    result = run("brokers", "list", "--json", "--data-dir", str(tmp_path))
    assert json.loads(result.out) == BROKERS


def test_a_refusal(run, door, tmp_path):
    door(b'{"error": "broker 9 is not running in this process; these are: 1"}\n')
    result = run("brokers", "stop", "9", "--data-dir", str(tmp_path))
    assert (result.status, result.out) == (1, "")
    assert "Broker 9 is not running in this process; these are: 1." in result.err


@pytest.mark.parametrize("there", [False, True])
def test_nobody_answers(run, door, tmp_path, there):
    if there:
        door(b"")
    result = run("brokers", "list", "--data-dir", str(tmp_path if there else tmp_path / "nowhere"))
    assert result.status == 3
    assert "ended before it answered" in result.err if there else "--data-dir names its log directory" in result.err


def test_the_folder_may_come_from_the_environment(run, door, tmp_path, monkeypatch):
    """As in a container, where serve and this command are given the same environment."""
    door(json.dumps({"brokers": BROKERS}).encode() + b"\n")
    monkeypatch.setenv("PYKBROKER_DATA_DIR", str(tmp_path))
    result = run("brokers", "list")
    assert (result.status, result.err) == (0, "")
    assert "127.0.0.1:9092" in result.out
