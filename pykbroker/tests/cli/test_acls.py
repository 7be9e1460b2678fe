"""``pykbroker acls`` against a broker with an authorizer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.testing import Kafka

ADMIN = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with Kafka(ADMIN) as kafka:
        yield kafka.bootstrap_servers


@pytest.fixture
def ask(run: Any, address: str) -> Iterator[Callable[..., Any]]:
    def asked(*words: str, status: int = 0) -> Any:
        done = run("acls", *words, "-b", address, *([] if status else ["--json"]))
        assert done.status == status, done.err
        return done.err if status else json.loads(done.out)

    yield asked
    asked("remove", "--all")


def short(rows: list[dict[str, str]]) -> list[str]:
    return [" ".join(row.values()) for row in rows]


def test_a_producer_and_a_consumer_are_allowed_what_they_need(ask: Callable[..., Any]) -> None:
    assert ask("list") == []
    ask("add", "--principal", "alice", "--topic", "orders", "--transactional-id", "pay", "--producer")
    ask("add", "--principal", "User:bob", "--topic", "or", "--prefixed", "--consumer", "--host", "10.0.0.1")
    ask("add", "--principal", "bob", "--group", "*", "--consumer")
    assert short(ask("list")) == [
        "topic or prefixed User:bob 10.0.0.1 read allow",
        "topic or prefixed User:bob 10.0.0.1 describe allow",
        "topic orders literal User:alice * write allow",
        "topic orders literal User:alice * create allow",
        "topic orders literal User:alice * describe allow",
        "group * literal User:bob * read allow",
        "transactional-id pay literal User:alice * write allow",
        "transactional-id pay literal User:alice * describe allow",
    ]


def test_what_is_about_a_topic_is_found_and_only_what_is_named_is_removed(ask: Callable[..., Any]) -> None:
    for words in (["--topic", "orders"], ["--topic", "or", "--prefixed"], ["--topic", "*"], ["--topic", "other"]):
        ask("add", "-p", "*", "-o", "read", *words)
    ask("add", "-p", "mallory", "-o", "all", "--deny", "--topic", "orders")
    assert len(ask("list", "--topic", "orders")) == 4
    assert len(ask("list", "--topic", "orders", "--exactly")) == 2
    assert len(ask("list", "--principal", "*")) == 4
    would = ask("remove", "--topic", "orders", "--dry-run")
    assert short(would) == ["topic orders literal User:* * read allow", "topic orders literal User:mallory * all deny"]
    assert len(ask("remove", "--topic", "orders", "--deny")) == 1
    assert ask("remove", "--topic", "orders") == would[:1]
    assert len(ask("list")) == 3


def test_the_cluster_and_tokens(ask: Callable[..., Any]) -> None:
    ask("add", "-p", "alice", "--cluster", "-o", "idempotent-write", "-o", "Alter_Configs")
    ask("add", "-p", "alice", "--token-owner", "bob", "-o", "describe-tokens")
    assert short(ask("list")) == [
        "cluster kafka-cluster literal User:alice * alter-configs allow",
        "cluster kafka-cluster literal User:alice * idempotent-write allow",
        "user User:bob literal User:alice * describe-tokens allow",
    ]


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["add", "--topic", "t", "-o", "read"], 2, "Say to whom"),
        (["add", "-p", "a", "--topic", "t"], 2, "Say what may be done"),
        (
            ["add", "-p", "a", "--topic", "t", "-o", "reed"],
            2,
            "'reed' is not an operation; the operations are: all, read,",
        ),
        (["add", "-p", "a", "--topic", "*", "--prefixed", "-o", "read"], 2, "leave --prefixed out"),
        (["remove"], 2, "Say which"),
        (["add", "-p", "a", "--topic", "", "-o", "read"], 1, "Invalid empty resource name"),
    ],
)
def test_what_cannot_be_done_is_told(ask: Callable[..., Any], words: list[str], status: int, says: str) -> None:
    assert says in ask(*words, status=status)


def test_a_broker_without_an_authorizer_says_so(run: Any) -> None:
    with Kafka() as kafka:
        done = run("acls", "list", "-b", kafka.bootstrap_servers)
    assert done.status == 1
    assert "No Authorizer is configured" in done.err
