"""The request log: what real clients sent, decoded, and what they were answered."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaProducer

from pykbroker.steered import request_log
from pykbroker.testing import Kafka
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.records import read_batch_header


def test_what_a_client_sent_is_there_decoded(broker: Kafka) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "client.id": "mine", "acks": 1})
    producer.produce("t", b"v" * 10)
    assert producer.flush(20) == 0
    [sent] = broker.requests("Produce", client_id="mine", topic="t")
    assert (sent.api, sent.node_id, sent.topics, sent.refused) == ("Produce", 1, {"t"}, None)
    assert sent.request.acks == 1
    assert read_batch_header(sent.request.topic_data[0].partition_data[0].records).record_count == 1
    assert sent.response.responses[0].partition_responses[0].base_offset == 0
    assert sent.took_ms is not None
    assert broker.requests("produce") == broker.requests("PRODUCE") == [sent]
    assert broker.requests("Produce", topic="u") == broker.requests("Produce", client_id="other") == []


def test_what_waits_has_no_answer_yet_and_then_has(broker: Kafka) -> None:
    broker.produce("t", "v")
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "fetch.wait.max.ms": 20_000})
    consumer.assign([TopicPartition("t", 0, 1)])
    fetch = broker.wait_until(lambda _: [each for each in broker._requests if each.api == "Fetch" and each.topics])[0]
    assert (fetch.topics, fetch.response, fetch.took_ms) == ({"t"}, None, None)
    broker.produce("t", "w" * 10_000)
    broker.wait_until(lambda _: fetch.response is not None)
    [partition] = fetch.response.responses[0].partitions
    assert (partition.high_watermark, len(partition.records)) == (2, request_log.KEPT_RECORD_BYTES)
    consumer.close()


def test_errors_are_told(broker: Kafka) -> None:
    broker.create_topic("t", configs={"max.message.bytes": 100})
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers, retries=0)
    with pytest.raises(Exception, match="MessageSizeTooLarge"):
        producer.send("t", b"v" * 1000).get(timeout=20)
    producer.close()
    [refused] = broker.requests("Produce")
    assert refused.error_codes == {ErrorCode.MESSAGE_TOO_LARGE}
    assert "Produce v" in str(refused)
    assert "t: MESSAGE_TOO_LARGE after" in str(refused)


def test_an_api_that_is_not_there_is_refused_with_what_was_meant(broker: Kafka) -> None:
    with pytest.raises(ValueError, match="Kafka has no API 'Prodcue'; write Produce"):
        broker.requests("Prodcue")


def test_it_is_bounded(broker: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_log, "MOST_REQUESTS", 5)
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    for number in range(10):
        producer.send("t", b"%d" % number).get(timeout=20)
    assert len(broker.requests()) == 5
    monkeypatch.setattr(request_log, "MOST_STRUCTS", 8)
    producer.send("t", b"last").get(timeout=20)
    left = broker.requests()
    assert left[-1].api == "Produce"
    assert sum(each.weight for each in left) <= 8
    producer.close()


def test_a_reset_forgets_it(broker: Kafka) -> None:
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    producer.close()
    assert broker.requests("ApiVersions")
    broker.reset()
    assert broker.requests() == []


def produce(broker: Kafka) -> Producer:
    """Without KIP-899: what has lost all brokers would close connections with requests in flight, and send them again."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50,
                         "retry.backoff.ms": 10, "metadata.recovery.strategy": "none"})  # fmt: skip
    producer.produce("t", b"v")
    return producer


def test_a_request_that_is_held_or_delayed_is_noted_once(broker: Kafka) -> None:
    with broker.faults.add("Produce", hold=True) as held:
        producer = produce(broker)
        held.wait()
        [request] = broker.requests("Produce")
        assert str(request).endswith("not answered yet")
    assert producer.flush(20) == 0
    [request] = broker.requests("Produce")
    assert request.response is not None
    with broker.faults.add("Produce", delay="50ms", times=1):
        producer.produce("t", b"v")
        assert producer.flush(20) == 0
    _, second = broker.requests("Produce")
    assert (second.took_ms or 0) >= 50


def test_one_that_is_closed_after_it_was_held(broker: Kafka) -> None:
    with broker.faults.add("Produce", hold=True) as held:
        producer = produce(broker)
        held.wait()
        broker.faults.add("Produce", close=True, times=1)
    assert producer.flush(20) == 0
    assert [each.closed is not None for each in broker.requests("Produce")] == [True, False]
    assert broker.unserved() == []


@pytest.mark.parametrize("rule", ["close", "close after", "truncate=9"])
def test_a_connection_that_a_fault_closed_was_no_refusal(
    broker: Kafka, rule: str, caplog: pytest.LogCaptureFixture
) -> None:
    with broker.faults.add(f"Produce {rule} times=1"):
        assert produce(broker).flush(20) == 0
    first, *_ = broker.requests("Produce")
    assert first.closed is not None
    assert first.closed.startswith("a fault closes it")
    assert "closed: a fault closes it" in str(first)
    assert broker.unserved() == []
    broker.check_served()
    assert "Unhandled" not in caplog.text
