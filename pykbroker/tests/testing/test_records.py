"""Records without a client: what a client sees of them, and what is seen of a client's."""

from __future__ import annotations

import threading

import pytest
from confluent_kafka import Consumer, Producer
from kafka import KafkaProducer

from pykbroker.testing import Kafka, Record, TimedOut
from pykbroker.wire.errors import KafkaError


def test_a_client_reads_what_was_produced_without_one(broker: Kafka) -> None:
    record = broker.produce("t", "wörld", key="k", headers={"h": b"1", "none": None}, timestamp_ms=86_400_000)
    assert record == Record("t", 0, 0, 86_400_000, b"k", "wörld".encode(), (("h", b"1"), ("none", None)))
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["t"])
    [message] = consumer.consume(1, timeout=20)
    consumer.close()
    assert (message.key(), message.value(), message.headers()) == (
        b"k",
        "wörld".encode(),
        [("h", b"1"), ("none", None)],
    )
    assert message.timestamp()[1] == 86_400_000


def test_what_a_client_produced_is_read_without_one(broker: Kafka) -> None:
    broker.create_topic("t", 2)
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers, compression_type="gzip")
    for number in range(6):
        producer.send("t", b"%d" % number, partition=number % 2)
    producer.close()
    assert [(each.partition, each.offset, each.value) for each in broker.records("t")] == [
        *((0, 0, b"0"), (0, 1, b"2"), (0, 2, b"4"), (1, 0, b"1"), (1, 1, b"3"), (1, 2, b"5")),
    ]
    assert [each.text for each in broker.records("t", 1)] == ["1", "3", "5"]


def test_keys_go_where_javas_clients_send_them(broker: Kafka) -> None:
    broker.create_topic("t", 7)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2"})
    for key in ("a", "key-1", "ключ"):
        producer.produce("t", b"client", key=key)
    producer.flush(20)
    for record in broker.records("t"):
        assert record.key is not None
        assert broker.produce("t", "ours", key=record.key).partition == record.partition


def test_records_of_transactions_count_when_they_are_committed(broker: Kafka) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "tx"})
    producer.init_transactions(20)
    for value, end in ((b"aborted", producer.abort_transaction), (b"committed", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce("t", value)
        producer.flush(20)
        broker.wait_for_transaction("tx", "Ongoing")
        assert b"aborted" not in [each.value for each in broker.records("t")]
        end(20)
    assert broker.wait_for_transaction("tx").state == "CompleteCommit"
    assert [each.value for each in broker.records("t")] == [b"committed"]


def test_a_record_is_waited_for_until_it_comes(broker: Kafka) -> None:
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    later = threading.Timer(0.05, lambda: [producer.send("t", b"%d" % number) for number in range(3)])
    later.start()
    assert broker.wait_for_record("t", value="2").offset == 2
    assert [each.value for each in broker.wait_for_records("t", 2, lambda each: each.offset > 0)] == [b"1", b"2"]
    producer.close()


def test_a_record_that_does_not_come_is_told_with_those_that_did(broker: Kafka) -> None:
    broker.produce("t", "other")
    with pytest.raises(TimedOut, match=r"after 0\.05 s .* in t; last seen: 0 of them and 1 others, .*b'other'"):
        broker.wait_for_record("t", value="this", timeout=0.05)


def test_what_cannot_be_produced_is_refused_in_words(broker: Kafka) -> None:
    broker.create_topic("t", configs={"cleanup.policy": "compact"})
    with pytest.raises(LookupError, match="topic t has no partition 3; it has 1"):
        broker.produce("t", "v", partition=3)
    with pytest.raises(TypeError, match="not int; encode it first"):
        broker.produce("t", 3)
    with pytest.raises(KafkaError, match="INVALID_RECORD"):
        broker.produce("t", "no key in a compacted topic")
    with pytest.raises(LookupError, match="there is no topic 'u'; there are t"):
        broker.records("u")


def test_topics_are_made_and_taken_away(broker: Kafka) -> None:
    broker.create_topic("t", 3)
    assert broker.topics() == {"t": 3}
    with pytest.raises(KafkaError, match=r"topic t cannot be created: .*already exists"):
        broker.create_topic("t")
    broker.delete_topic("t")
    assert broker.topics() == {}
    with pytest.raises(LookupError, match="there are none"):
        broker.delete_topic("t")


def test_without_auto_creation_a_missing_topic_is_told() -> None:
    with (
        Kafka(auto_create_topics_enable=False) as broker,
        pytest.raises(LookupError, match=r"create_topic\('t'\)"),
    ):
        broker.produce("t", "v")


def test_a_broker_that_does_not_run_says_so() -> None:
    with pytest.raises(RuntimeError, match="not running"):
        Kafka().produce("t", "v")
