"""``consume --committed`` and ``dump`` with transactions, made by librdkafka. Nothing is skipped."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaException, Producer

from compat_tests.cli.conftest import Result
from compat_tests.harness.awaiting import eventually
from compat_tests.harness.process import BrokerProcess

Run = Callable[..., Result]


def _transaction(producer: Producer, topic: str, values: list[str], *, commit: bool) -> None:
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0)
    producer.flush()
    if commit:
        producer.commit_transaction()
    else:
        producer.abort_transaction()


def test_only_what_was_committed(run: Run, target: BrokerProcess, topic: str, name: Callable[..., str]) -> None:
    transactional_id = name("transactions")
    producer = Producer({"bootstrap.servers": target.bootstrap, "transactional.id": transactional_id})
    producer.init_transactions()
    _transaction(producer, topic, ["a", "b"], commit=True)
    _transaction(producer, topic, ["never"], commit=False)
    run("produce", topic, "-p", "0", stdin=b"plain")
    _transaction(producer, topic, ["c"], commit=True)
    producer.begin_transaction()
    producer.produce(topic, "open", partition=0)
    producer.flush()

    assert run("consume", topic, "-e", "--committed").lines == ["a", "b", "plain", "c"]
    assert run("consume", topic, "-e").lines == ["a", "b", "never", "plain", "c", "open"]
    producer.abort_transaction()
    assert run("consume", topic, "-e", "--committed").lines == ["a", "b", "plain", "c"]

    (log,) = (target.data_dir / f"{topic}-0").glob("*.log")
    batches = [json.loads(line) for line in run("dump", "-r", "--json", str(log)).lines]
    markers = [batch["records"][0]["type"] for batch in batches if batch["batch"]["control"]]
    assert markers == ["COMMIT", "ABORT", "COMMIT", "ABORT"]

    logs = [str(path) for path in target.data_dir.glob("__transaction_state-*/*.log")]
    lines = run("dump", "-r", "--json", *logs).lines
    records = [record for line in lines for record in json.loads(line)["records"]]
    ours = [r for r in records if r["key"] and r["key"]["transactional_id"] == transactional_id]
    assert ours
    assert {r["type"] for r in ours} == {"TransactionLog"}


@pytest.fixture
def open_transaction(target: BrokerProcess, topic: str, name: Callable[..., str]) -> tuple[str, Producer]:
    """A transactional id with one committed record and one in an open transaction, in partition 1 of the topic."""
    transactional_id = name("open")
    producer = Producer({"bootstrap.servers": target.bootstrap, "transactional.id": transactional_id})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, "committed", partition=1)
    producer.flush()
    producer.commit_transaction()
    producer.begin_transaction()
    producer.produce(topic, "open", partition=1)
    producer.flush()
    return transactional_id, producer


def test_a_transaction_is_seen_and_aborted(run: Run, topic: str, open_transaction: tuple[str, Producer]) -> None:
    transactional_id, producer = open_transaction
    listed = {row["id"]: row for row in run("transactions", "list", "--state", "Ongoing", "--json").json}
    assert listed[transactional_id]["coordinator"] == 1
    by_pattern = run("transactions", "list", "--pattern", f".*{transactional_id[-20:]}", "--json").json
    assert [row["id"] for row in by_pattern] == [transactional_id]
    assert transactional_id not in run("transactions", "list", "--longer-than", "1h").out
    (described,) = run("transactions", "describe", transactional_id, "--json").json
    assert described["state"] == "Ongoing"
    assert described["partitions"] == [f"{topic}-1"]
    assert described["producer"] == listed[transactional_id]["producer"]
    assert described["started"] is not None
    assert 0 <= described["age_ms"] < 600_000

    (row,) = run("transactions", "producers", topic, "--open", "--json").json
    assert (row["partition"], row["producer"], row["open_since"]) == (1, described["producer"], 2)
    assert run("offsets", topic, "-p", "1", "--committed", "--json").json[0]["end"] == 2

    aborted = run("transactions", "abort", transactional_id, "-y")
    assert aborted.lines == [f"{transactional_id} has no open transaction, its producer is fenced"]
    eventually(lambda: run("offsets", topic, "-p", "1", "--committed", "--json").json[0]["end"], lambda end: end == 4)
    assert run("consume", topic, "-e", "--committed").lines == ["committed"]
    with pytest.raises(KafkaException):
        producer.commit_transaction()


def test_a_transaction_is_ended_where_it_hangs(run: Run, topic: str, open_transaction: tuple[str, Producer]) -> None:
    transactional_id, _ = open_transaction
    where = ("-t", topic, "-p", "1", "-y", "--start-offset")
    wrong = run("transactions", "abort", *where, "1")
    assert wrong.status == 1
    assert f"No transaction that is open in {topic}-1 began at offset 1" in wrong.err
    ended = run("transactions", "abort", *where, "2")
    assert ended.status == 0, ended.err
    assert ended.out.startswith(f"{topic}-1 aborted what producer ")
    assert run("transactions", "producers", topic, "--open").out == ""
    assert run("consume", topic, "-e", "--committed").lines == ["committed"]
    assert run("transactions", "abort", transactional_id, "-y").status == 0


def test_transactions_that_are_not_there(run: Run, name: Callable[..., str]) -> None:
    missing = name("missing")
    for command in (("describe", missing), ("abort", missing, "-y")):
        result = run("transactions", *command)
        assert result.status == 1
        assert f"error: Transactional id {missing}: " in result.err
        assert "(TRANSACTIONAL_ID_NOT_FOUND)" in result.err
    assert missing not in run("transactions", "list").out
    assert run("transactions", "list", "--state", "Frog").status == 2
    bad = run("transactions", "list", "--pattern", "(")
    assert bad.status == 1
    assert "(INVALID_REGULAR_EXPRESSION)" in bad.err
