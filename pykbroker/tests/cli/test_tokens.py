"""``pykbroker tokens`` against a broker on which one signs in, and the clients that it writes settings for."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pykbroker.storage.properties import load, text_of
from pykbroker.testing import Kafka

USERS = {"alice": "alice-secret", "bob": 'b"b\\b'}
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with Kafka(security="sasl_plaintext", users=USERS) as running:
        yield running


@pytest.fixture
def files(kafka: Kafka, tmp_path: Path) -> dict[str, Path]:
    """Client properties of the users."""
    for name in USERS:
        settings = {"bootstrap.servers": kafka.bootstrap_servers, **kafka.security.java(name)}
        (tmp_path / name).write_text(text_of(settings))
    return {name: tmp_path / name for name in USERS}


@pytest.fixture
def ask(run: Any, files: dict[str, Path]) -> Iterator[Ask]:
    def asked(*words: str, who: str | Path = "alice", status: int = 0) -> Any:
        file = files[who] if isinstance(who, str) else who
        done = run("tokens", *words, "--command-config", str(file), *([] if status else ["--json"]))
        assert done.status == status, done.err
        return done.err if status else json.loads(done.out)

    yield asked
    for row in asked("list"):
        asked("expire", row["token"], who="bob" if row["owner"] == "User:bob" else "alice")


def test_a_token_is_created_listed_renewed_and_expired(ask: Ask) -> None:
    assert ask("list") == []
    (made,) = ask("create", "--renewer", "bob", "--renewer", "User:carol", "--max-life", "2h")
    assert (made["owner"], made["requester"], made["renewers"]) == ("User:alice",) * 2 + (["User:bob", "User:carol"],)
    assert len(made["secret"]) == 88
    (shown,) = ask("list", "--secrets")
    assert shown == made
    del made["secret"]
    assert ask("list") == ask("list", "carol") == [made]
    assert ask("list", "dave") == []
    assert ask("expire", made["token"], "--in", "10m")["expires"] < made["expires"]
    assert ask("renew", made["token"], who="bob")["expires"] == made["ends"]
    sooner = ask("renew", made["token"], "--for", "30m")
    assert ask("list")[0] == {**made, "expires": sooner["expires"]}
    ask("expire", made["token"])
    assert ask("list") == []


def test_a_client_signs_in_by_the_file_that_is_written(ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "job"
    (made,) = ask("create", "--write-config", str(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert load(file)["sasl.mechanism"] == "SCRAM-SHA-256"
    assert "alice-secret" not in file.read_text()
    assert "not by a token" in ask("list", who=file, status=1)
    assert "File exists" in ask("create", "--write-config", str(file), status=2)
    (again,) = ask("list")
    assert again["token"] == made["token"]


def test_a_file_is_not_left_where_there_is_no_token(run: Any, tmp_path: Path) -> None:
    with Kafka() as plain:
        done = run("tokens", "create", "-b", plain.bootstrap_servers, "--write-config", str(tmp_path / "job"))
    assert done.status == 1
    assert "Sign in for it, and not by a token" in done.err
    assert not (tmp_path / "job").exists()


def test_a_token_for_somebody_else(ask: Ask) -> None:
    (made,) = ask("create", "--owner", "bob")
    assert (made["owner"], made["requester"]) == ("User:bob", "User:alice")
    assert "Its owner and its renewers may do this" in ask("renew", made["token"], status=1)
    assert ask("renew", made["token"], who="bob")["expires"] >= made["expires"]


def test_what_cannot_be_is_told(ask: Ask) -> None:
    assert "There is no token nobody" in ask("renew", "nobody", status=1)
    assert "There is no token nobody" in ask("expire", "nobody", status=1)
    assert "is not a duration" in ask("create", "--max-life", "long", status=2)
    assert "principalType is not supported" in ask("create", "--renewer", "Group:all", status=1)


def test_for_people(ask: Ask, run: Any, files: dict[str, Path]) -> None:
    config = ("--command-config", str(files["alice"]))
    assert "There are no such tokens" in run("tokens", "list", *config).err
    (made,) = ask("create")
    heading, row = run("tokens", "list", *config).out.splitlines()
    assert heading == "TOKEN\tOWNER\tREQUESTER\tRENEWERS\tEXPIRES\tENDS"
    assert row == f"{made['token']}\tUser:alice\tUser:alice\t-\t{made['expires']}\t{made['ends']}"
    assert run("tokens", "renew", made["token"], *config).out.startswith(f"{made['token']} expires at 2")


def test_a_broker_without_a_key(run: Any, tmp_path: Path) -> None:
    with Kafka({"delegation.token.secret.key": ""}, security="sasl_plaintext") as keyless:
        settings = {"bootstrap.servers": keyless.bootstrap_servers, **keyless.security.java()}
        (tmp_path / "alice").write_text(text_of(settings))
        done = run("tokens", "create", "--command-config", str(tmp_path / "alice"))
    assert done.status == 1
    assert "delegation.token.secret.key" in done.err
