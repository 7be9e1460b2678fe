"""``consume --committed`` and ``dump`` with transactions, made by librdkafka. Nothing is skipped."""

from __future__ import annotations

import json
from collections.abc import Callable

from confluent_kafka import Producer

from compat_tests.cli.conftest import Result
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
