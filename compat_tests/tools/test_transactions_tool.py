"""Kafka's transactions tool: what is open, what hangs, and how an administrator ends it; and the log as dump-log reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from compat_tests.harness.awaiting import eventually
from compat_tests.harness.kafka_tools import ToolResult

LIMIT_S = 60


def rows(result: ToolResult) -> list[dict[str, str]]:
    """The rows of this tool's table, cells by heading."""
    headings, *lines = [line.split() for line in result.lines if line.strip()]
    return [dict(zip(headings, words, strict=False)) for words in lines]


@pytest.fixture
def open_transaction(bootstrap, make_topic, name) -> Iterator[tuple[str, str, Producer]]:
    """A topic, the transactional id of a transaction that is open on it, and the producer."""
    topic, transactional_id = make_topic(2), name("id")
    settings = {
        "bootstrap.servers": bootstrap,
        "transaction.timeout.ms": 600_000,
    }  # tools may take long on a busy machine
    producer = Producer({**settings, "transactional.id": transactional_id})
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    for partition in range(2):
        producer.produce(topic, b"value", partition=partition)
    assert producer.flush(LIMIT_S) == 0
    yield topic, transactional_id, producer
    producer.purge()


def test_an_open_transaction_is_described_and_listed(tool, open_transaction):
    topic, transactional_id, producer = open_transaction
    (found,) = rows(tool("transactions", "describe", "--transactional-id", transactional_id))
    assert (found["TransactionalId"], found["TransactionState"]) == (transactional_id, "Ongoing")
    assert found["TransactionTimeoutMs"] == "600000"
    assert f"{topic}-0" in tool("transactions", "describe", "--transactional-id", transactional_id).out
    listed = [row for row in rows(tool("transactions", "list")) if row["TransactionalId"] == transactional_id]
    assert [(row["Coordinator"], row["TransactionState"]) for row in listed] == [("1", "Ongoing")]
    assert transactional_id not in tool("transactions", "list", "--duration-filter", "3600000").out
    by_pattern = tool("transactions", "list", "--transactional-id-pattern", transactional_id[:-1] + ".").out
    assert transactional_id in by_pattern
    producer.commit_transaction(LIMIT_S)
    (ended,) = rows(tool("transactions", "describe", "--transactional-id", transactional_id))
    assert ended["TransactionState"] in ("PrepareCommit", "CompleteCommit")


def test_a_transaction_is_aborted_by_its_start_offset(tool, open_transaction):
    topic, _, _ = open_transaction
    partition = ("--topic", topic, "--partition", "0")
    (before,) = rows(tool("transactions", "describe-producers", *partition))
    assert before["CurrentTransactionStartOffset"] == "0"
    tool("transactions", "abort", *partition, "--start-offset", "0")
    (after,) = rows(tool("transactions", "describe-producers", *partition))
    assert after["CurrentTransactionStartOffset"] == "None"
    end = tool("get-offsets", "--topic", topic, "--partitions", "0").lines
    assert end == [f"{topic}:0:2"]


def test_nothing_hangs_that_has_a_coordinator(tool, open_transaction):
    topic, _, producer = open_transaction
    found = tool("transactions", "find-hanging", "--topic", topic, "--max-transaction-timeout", "0")
    assert topic not in found.out
    producer.abort_transaction(LIMIT_S)


def test_an_unknown_transactional_id(tool, name):
    refused = tool("transactions", "describe", "--transactional-id", name("nobody"), status=1)
    assert "could not be found" in refused.text


def test_the_log_of_transactions_as_dump_log_reads_it(start_target, kafka_tools, name):
    broker = start_target({"transaction.state.log.num.partitions": "1"})
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "dumped"})
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    producer.produce(name(), b"value")
    producer.commit_transaction(LIMIT_S)
    listing = ("--bootstrap-server", broker.bootstrap, "list")
    eventually(lambda: kafka_tools("transactions", *listing).out, lambda listed: "CompleteCommit" in listed)
    broker.stop()
    log = broker.data_dir / "__transaction_state-0" / f"{0:020}.log"
    out = kafka_tools("dump-log", "--transaction-log-decoder", "--files", str(log)).out
    assert '"transactionalId":"dumped"' in out
    statuses = re.findall(r'"transactionStatus":"(\w+)"', out)
    assert statuses == ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"]
