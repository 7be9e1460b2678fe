"""systemd is told when clients are accepted, where it asked for that."""

from __future__ import annotations

import socket
import uuid
from pathlib import Path

import pytest

from pykbroker.process.notify import notify
from pykbroker.tests.cli.test_serve import serving


@pytest.mark.parametrize("abstract", [False, True])
def test_a_service_says_when_it_is_ready(tmp_path: Path, monkeypatch, abstract: bool) -> None:
    name = f"@pykbroker-{uuid.uuid4()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(name.replace("@", "\0", 1))
        systemd.settimeout(30)
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        with serving("--listen", "127.0.0.1:0", "--ephemeral") as (_, line):
            address = line.split()[-1]
            assert systemd.recv(4096).decode() == f"READY=1\nSTATUS=Serving on {address}"


def test_nobody_listens(tmp_path: Path, monkeypatch, caplog) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    notify(READY="1")
    assert "systemd cannot be told READY" in caplog.text
    monkeypatch.delenv("NOTIFY_SOCKET")
    notify(READY="1")
    assert len(caplog.records) == 1
