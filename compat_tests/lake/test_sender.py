"""A sender names the broker's reason for a refusal, although librdkafka has not delivered it yet."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from compat_tests.harness.process import BrokerProcess
from compat_tests.spark.topics import Topics
from pykbroker.lake import replay_task
from pykbroker.lake.errors import LakeError
from pykbroker.lake.replay_task import Sending, _Line, kafka_error
from pykbroker.testing import Kafka


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    with Kafka() as kafka:
        kafka.create_topic("t", 1, configs={"max.message.bytes": 1000})
        yield kafka


def line_to(kafka: Kafka) -> _Line:
    return _Line(Sending("replay", {"bootstrap.servers": kafka.bootstrap_servers}, {"orders": "t"}), "orders", 0)


def row(offset: int, size: int = 1) -> dict[str, Any]:
    return {"offset": offset, "ms": 1, "key": None, "value": random.randbytes(size), "headers": None}


def produce_until_refused(line: _Line) -> None:
    """Without polling: librdkafka accepts no more records once it knows that the first one was refused."""
    while True:
        line._producer.produce("t", b"", partition=0)
        time.sleep(0.01)


def test_a_commit_tells_why_a_record_was_refused(kafka: Kafka) -> None:
    line = line_to(kafka)
    line.send(row(7, 2000))
    with pytest.raises(KafkaException, match="Erroneous state"):
        produce_until_refused(line)
    with pytest.raises(LakeError, match=r"^orders-0, offsets 7 to 7: t did not take a record: .*too large\.$"):
        line.commit()


def test_the_next_record_tells_why_an_earlier_one_was_refused(kafka: Kafka) -> None:
    line = line_to(kafka)
    line.send(row(7, 2000))
    with pytest.raises(KafkaException, match="Erroneous state"):
        produce_until_refused(line)
    with pytest.raises(LakeError, match=r"^orders-0, offset 8: t did not take a record: .*too large\.$"):
        line.send(row(8))


def test_a_refused_transaction_is_ended(kafka: Kafka) -> None:
    """Otherwise read_committed consumers would wait until it times out."""
    line = line_to(kafka)
    line.send(row(0))
    line._producer.flush(10)
    line.send(row(1, 2000))
    with pytest.raises(LakeError):
        line.end()
    kafka.wait_for_transaction("replay-t-0", "CompleteAbort")


def test_the_error_is_found_among_the_causes_of_an_exception_if_there_is_one() -> None:
    fatal = KafkaException(KafkaError(KafkaError._FENCED))
    wrapped = SystemError("returned a result with an exception set")
    wrapped.__cause__ = fatal
    for error in (fatal, wrapped):
        assert kafka_error(error) is fatal.args[0]
    for error in (SystemError("null argument to internal routine"), KafkaException(), KafkaException("text")):
        assert kafka_error(error) is None


def test_a_failure_of_the_client_itself_is_told_with_the_partition(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = line_to(kafka)
    line.send(row(7))

    def fail(*_: object) -> None:
        raise SystemError("null argument to internal routine")

    monkeypatch.setattr(replay_task, "called", fail)
    with pytest.raises(LakeError, match=r"^orders-0, offsets 7 to 7: confluent-kafka failed: null argument to"):
        line.commit()


def test_a_fenced_producer_is_told(kafka: Kafka) -> None:
    line = line_to(kafka)
    line.send(row(0))
    later = line_to(kafka)
    with pytest.raises(LakeError, match=r"^orders-0, offsets 0 to 0: its producer is fenced: another replay"):
        line.end()
    later.end()


IMPATIENT = {"transaction.timeout.ms": "3000", "message.timeout.ms": "2500"}


def test_a_transaction_begins_again_where_the_broker_died_and_came_back(
    start_target: Callable[..., BrokerProcess],
) -> None:
    """librdkafka 2.16 then waits for ever in send_offsets_to_transaction, beside Apache Kafka, too."""
    target = start_target()
    topics = Topics(target.bootstrap)
    topic = topics.create()
    line = _Line(Sending("replay", {"bootstrap.servers": target.bootstrap}, {"orders": topic}), "orders", 0)
    for offset in range(50):
        line.send(row(offset))
    line.commit()
    for offset in range(50, 60):
        line.send(row(offset))
    target.kill()
    time.sleep(3)  # librdkafka forgets the broker after some refused connections
    target.start()
    line.end()
    assert line.sent == 60
    assert len(topics.receive(topic)) == 60


def test_a_broker_that_stays_away_ends_the_sending(start_target: Callable[..., BrokerProcess]) -> None:
    target = start_target()
    topic = Topics(target.bootstrap).create()
    client = {"bootstrap.servers": target.bootstrap, **IMPATIENT}
    line = _Line(Sending("first", client, {"orders": topic}), "orders", 0)
    line.send(row(7))
    target.kill()
    with pytest.raises(LakeError, match=r"^orders-0, .* The broker is down or .* --name first: it goes"):
        line.end()
    with pytest.raises(LakeError, match=rf"^orders-0, to {topic}: .* The broker is down or .* --name first: it goes"):
        _Line(Sending("first", client, {"orders": topic}), "orders", 0)


def test_a_transaction_has_not_more_bytes_than_the_task_may_keep(kafka: Kafka) -> None:
    settings = Sending("replay", {"bootstrap.servers": kafka.bootstrap_servers}, {"orders": "t"}, transaction_bytes=150)
    line = _Line(settings, "orders", 0)
    for offset in range(4):
        line.send(row(offset, 50))
    assert line.sent == 3
    line.end()
