"""Transactional ids, and the end of a transaction that hangs."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaException, Producer

from pykbroker.tests.http.http_client import WithHttp


def test_an_open_transaction_is_told_and_aborted(http: WithHttp) -> None:
    http.kafka.create_topic("open")
    producer = Producer({"bootstrap.servers": http.kafka.bootstrap_servers, "transactional.id": "hangs-<b>"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("open", "x")
    assert producer.flush(60) == 0
    found = http.look("/transactions", match="HANGS")
    (mine,) = found["transactions"]
    assert (mine["id"], mine["state"], mine["partitions"]) == ("hangs-<b>", "Ongoing", ["open-0"])
    assert mine["started"] <= found["now"]
    assert http.look("/transactions", match="hangs", state="Empty")["total"] == 0
    http.change("/transactions/abort", id="hangs-<b>")
    assert http.look("/transactions", match="hangs", state="Ongoing")["total"] == 0
    with pytest.raises(KafkaException):
        producer.commit_transaction(60)
    assert http.kafka.records("open") == []


def test_an_id_that_nobody_has_is_not_brought_into_being(http: WithHttp) -> None:
    answer = http.changed("/transactions/abort", id="nobody")
    assert (answer.status, answer.json["title"].partition(":")[0]) == (409, "TRANSACTIONAL_ID_NOT_FOUND")
    assert http.look("/transactions", match="nobody")["total"] == 0
