"""``pykbroker client-metrics``: subscriptions are set, listed and removed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture
def ask(run: Any, address: str) -> Iterator[Callable[..., Any]]:
    def asked(*words: str, status: int = 0) -> Any:
        done = run("client-metrics", *words, "-b", address)
        assert done.status == status, done.err
        return done.err if status else done.out

    yield asked
    for row in json.loads(asked("list", "--json")):
        asked("remove", row["name"])


def test_set_list_change_and_remove(ask: Any) -> None:
    assert json.loads(ask("list", "--json")) == []
    ask(
        "set",
        "slow",
        "--metrics",
        "org.apache.kafka.producer.",
        "--interval-ms",
        "60000",
        "--match",
        "client_id=app-.*",
    )
    ask("set", "all", "--metrics", "*")
    (everyone, slow) = json.loads(ask("list", "--json"))
    assert (everyone["name"], everyone["metrics"]) == ("all", "*")
    assert slow == {
        "name": "slow",
        "interval.ms": "60000",
        "metrics": "org.apache.kafka.producer.",
        "match": "client_id=app-.*",
    }
    ask("set", "slow", "--interval-ms", "1000")
    (_, slow) = json.loads(ask("list", "--json"))
    assert (slow["interval.ms"], slow["match"]) == ("1000", "client_id=app-.*")
    assert "(all)" in ask("list")
    ask("remove", "slow")
    assert [row["name"] for row in json.loads(ask("list", "--json"))] == ["all"]


def test_a_dry_run_changes_nothing(ask: Any) -> None:
    ask("set", "tried", "--metrics", "*", "--dry-run")
    assert json.loads(ask("list", "--json")) == []


def test_what_cannot_be_is_told(ask: Any) -> None:
    assert "Give --metrics, --interval-ms or --match." in ask("set", "nothing", status=2)
    assert "interval.ms" in ask("set", "slow", "--interval-ms", "5", status=1)
    assert json.loads(ask("list", "--json")) == []
