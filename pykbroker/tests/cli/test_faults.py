"""``pykbroker faults`` against a broker's own control socket."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from pykbroker.testing import Kafka


@pytest.fixture
def ask(run: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    with Kafka(data_dir=tmp_path) as kafka:
        address = kafka.bootstrap_servers

        def asked(*words: str, status: int = 0) -> Any:
            done = run("faults", *words, "--data-dir", str(tmp_path), *([] if status else ["--json"]))
            assert done.status == status, done.err
            return done.err if status else json.loads(done.out)

        asked.address = address  # type: ignore[attr-defined]
        yield asked


def test_faults_are_added_counted_and_removed(ask: Any) -> None:
    assert ask("list") == []
    added = ask("add", "Metadata", "delay=1ms")
    assert added == [{"number": 1, "fault": {"api": "Metadata", "delay": "1ms"}, "matched": 0, "fired": 0}]
    AdminClient({"bootstrap.servers": ask.address}).list_topics(timeout=20)
    assert ask("list")[0]["fired"] >= 1
    ask("add", "Produce", "topic=my topic", "error=not_leader_or_follower", "times=2")
    assert [rule["number"] for rule in ask("remove", "1")] == [2]
    assert ask("clear") == []


@pytest.mark.parametrize(
    ("words", "says"),
    [(["add", "Prodce", "drop"], "did you mean Produce"), (["remove", "7"], "There is no rule 7"), (["add", "Produce"], "The fault has no action")],
)  # fmt: skip
def test_what_cannot_be_done_is_told(ask: Any, words: list[str], says: str) -> None:
    assert says in ask(*words, status=1)
