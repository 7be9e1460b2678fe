"""The socket by which brokers are stopped and started."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path
from unittest.mock import Mock

import pytest

from pykbroker.steered.control import SOCKET, reachable
from pykbroker.tests.process.three import run, three


async def tell(path: Path, line: bytes) -> dict:
    with reachable(path / SOCKET) as address:
        reader, writer = await asyncio.open_unix_connection(address)
    try:
        writer.write(line + b"\n")
        return json.loads(await reader.readline())
    finally:
        writer.close()


def tell_blocking(path: Path, line: bytes) -> dict:
    """The same for a broker in a thread."""
    with reachable(path / SOCKET) as address, socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        connection.sendall(line + b"\n")
        with connection.makefile("rb") as lines:
            return json.loads(lines.readline())


@pytest.mark.parametrize("deep", [False, True])
def test_the_control_socket(tmp_path: Path, deep: bool) -> None:
    directory = tmp_path / ("d" * 120 if deep else "data")

    async def scenario() -> None:
        async with three(directory) as brokers:
            assert (directory / SOCKET).stat().st_mode & 0o777 == 0o600
            await brokers.create()
            answer = await tell(directory, b'{"command": "killBroker", "id": 1}')
            assert [(each["id"], each["state"], each["leads"]) for each in answer["brokers"]] == [
                (1, "stopped", 0),
                (2, "running", 1),
                (3, "running", 0),
            ]
            answer = await tell(directory, b'{"command": "startBroker", "id": 1}')
            assert answer["brokers"][0] == {
                "id": 1,
                "state": "running",
                "address": brokers.node.addresses()[1],
                "leads": 1,
            }
            assert await tell(directory, b'{"command": "listBrokers"}') == answer
            assert (await tell(directory, b'{"command": "longestTurn"}'))["longest_turn_ms"] == 0
            await brokers.partitions(2)
            assert (await tell(directory, b'{"command": "longestTurn"}'))["longest_turn_ms"] > 0
            assert "is not stopped" in (await tell(directory, b'{"command": "startBroker", "id": 1}'))["error"]
            assert "not a command" in (await tell(directory, b'{"command": "stop", "id": 1}'))["error"]
            assert "id is a number" in (await tell(directory, b'{"command": "stopBroker", "id": "x"}'))["error"]
            assert "missing" in (await tell(directory, b'{"command": "stopBroker"}'))["error"]
        assert not (directory / SOCKET).exists()

    run(scenario())


def test_the_umask_of_the_process_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is every thread's: of two brokers that set it at once, one may restore what the other has set, for good."""
    before = os.umask(0)
    umask = Mock(side_effect=AssertionError("the umask is set"))

    async def scenario() -> None:
        async with three(tmp_path):
            assert (tmp_path / SOCKET).stat().st_mode & 0o777 == 0o600

    try:
        with monkeypatch.context() as changed:
            changed.setattr(os, "umask", umask)
            run(scenario())
    finally:
        os.umask(before)
    umask.assert_not_called()


def test_a_socket_that_a_killed_process_left_is_replaced(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with three(tmp_path):
            pass
        with socket.socket(socket.AF_UNIX) as left, reachable(tmp_path / SOCKET) as address:
            left.bind(address)
        async with three(tmp_path):
            assert len((await tell(tmp_path, b'{"command": "listBrokers"}'))["brokers"]) == 3

    run(scenario())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"GET / HTTP/1.1", "a command is one line of JSON"),
        (b"[" * 100_000, "a command is one line of JSON"),
        (b"{}", "{} is not a command of this version"),
        (b" " * 3 * 1024 * 1024, "a command has at most 1048576 bytes"),
    ],
)
def test_nonsense_on_the_control_socket_is_answered_and_harms_nobody(tmp_path: Path, line: bytes, said: str) -> None:
    async def scenario() -> None:
        async with three(tmp_path):
            assert await tell(tmp_path, line) == {"error": said}
            assert len((await tell(tmp_path, b'{"command": "listBrokers"}'))["brokers"]) == 3

    run(scenario())


def test_a_long_command_is_taken(tmp_path: Path) -> None:
    """As a tape of chaos is."""

    async def scenario() -> None:
        async with three(tmp_path):
            text = "7 " + "x" * 200_000
            refused = await tell(tmp_path, json.dumps({"command": "beginChaos", "text": text}).encode())
            assert "bytes" not in refused["error"]
            assert "x" in refused["error"]

    run(scenario())


def test_a_client_that_says_nothing_or_leaves_harms_nobody(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with three(tmp_path):
            for begun in (b"", b'{"command"'):
                with reachable(tmp_path / SOCKET) as address:
                    _, writer = await asyncio.open_unix_connection(address)
                writer.write(begun)
                writer.close()
            assert len((await tell(tmp_path, b'{"command": "listBrokers"}'))["brokers"]) == 3

    run(scenario())
