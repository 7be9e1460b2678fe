"""``pykbroker users``: that who is set may sign in, and who is removed no more, tests/cli/test_command_config.py has as well."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

BOTH = [
    {"user": "bob", "mechanism": "SCRAM-SHA-256", "iterations": 4096},
    {"user": "bob", "mechanism": "SCRAM-SHA-512", "iterations": 4096},
]


@pytest.fixture
def ask(run: Any, address: str) -> Iterator[Callable[..., Any]]:
    def asked(*words: str, status: int = 0, stdin: bytes = b"secret\n") -> Any:
        done = run("users", *words, "-b", address, stdin=stdin)
        assert done.status == status, done.err
        return done.err if status else done.out

    yield asked
    for row in json.loads(asked("list", "--json")):
        asked("remove", row["user"], "--mechanism", row["mechanism"].lower())


def test_set_list_and_remove(ask: Any) -> None:
    assert ask("list") == ""
    assert ask("set", "bob") == "bob may sign in\n"
    assert json.loads(ask("list", "--json")) == BOTH
    assert ask("set", "carol", "-m", "scram-sha-512", "--iterations", "8192") == "carol may sign in\n"
    assert ask("list", "carol") == "USER\tMECHANISM\tITERATIONS\ncarol\tSCRAM-SHA-512\t8192\n"
    assert ask("remove", "bob", "-m", "scram-sha-256") == "bob may not sign in by SCRAM-SHA-256\n"
    assert json.loads(ask("list", "bob", "--json")) == BOTH[1:]
    assert ask("remove", "bob") == "bob may not sign in\n"
    assert [row["user"] for row in json.loads(ask("list", "--json"))] == ["carol"]


def test_users_of_plain_are_not_said_to_be_none(run: Any, address: str) -> None:
    done = run("users", "list", "-b", address)
    assert (done.status, done.out) == (0, "")
    assert "Users of PLAIN are in the brokers' settings" in done.err


def test_a_password_of_a_file_is_its_first_line(ask: Any, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("from the file\nmore\n")
    ask("set", "bob", "--password-file", str(tmp_path / "password"), stdin=b"")
    assert json.loads(ask("list", "--json")) == BOTH


def test_what_cannot_be_is_told(ask: Any, tmp_path: Path) -> None:
    assert "A password is needed, and none was given" in ask("set", "bob", status=2, stdin=b"")
    assert "begins with an empty line" in ask("set", "bob", "--password-file", "/dev/null", status=2)
    assert "No such file" in ask("set", "bob", "--password-file", str(tmp_path / "none"), status=2)
    assert "--iterations" in ask("set", "bob", "--iterations", "4095", status=2)
    assert "User nobody: " in ask("list", "nobody", status=1)
    assert "RESOURCE_NOT_FOUND" in ask("remove", "nobody", status=1)
    assert json.loads(ask("list", "--json")) == []


def test_at_a_terminal_it_is_asked_for_twice(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = iter(["secret", "secret", "secret", "other"])
    monkeypatch.setattr("pykbroker.cli.passwords._is_terminal", lambda: True)
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(typed))
    ask("set", "bob", stdin=b"")
    assert json.loads(ask("list", "--json")) == BOTH
    assert "passwords differ" in ask("set", "bob", status=2, stdin=b"")
