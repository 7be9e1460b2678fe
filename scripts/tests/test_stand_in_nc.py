"""Whether a port is open, as checks of health ask."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from pykbroker.container.tools.running import run
from scripts.image.stand_ins import nc


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.mark.parametrize("flags", [["-z"], ["-zv"], ["-vz", "-w", "5"], ["-z", "-v", "-w5", "-n", "-4"]])
def test_one_that_is_open(flags: list[str], port: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("nc", nc.main, [*flags, "127.0.0.1", str(port)]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert ("succeeded" in told.err) == any("v" in flag for flag in flags)


def test_one_that_is_not(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        closed = listening.getsockname()[1]
    assert run("nc", nc.main, ["-z", "127.0.0.1", str(closed)]) == 1
    assert capsys.readouterr().err == ""
    assert run("nc", nc.main, ["-zv", "127.0.0.1", str(closed)]) == 1
    assert f"port {closed} (tcp) failed: " in capsys.readouterr().err
    assert run("nc", nc.main, ["-z", "127.0.0.1", str(closed), f"{port}-{port}"]) == 0
    assert run("nc", nc.main, ["-zv", "no-such-host.invalid", "1"]) == 1


@pytest.mark.parametrize(
    "words", [["-z", "127.0.0.1", "kafka"], ["-z", "127.0.0.1", "0"], ["-z", "h", "9-8"], ["-z"], ["h", "1"]]
)
def test_what_it_cannot_do_is_said(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("nc", nc.main, words) == 1
    assert capsys.readouterr().err.startswith("nc: ")
