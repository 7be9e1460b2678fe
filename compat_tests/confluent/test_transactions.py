"""confluent-kafka (librdkafka): transactions by the first protocol, which is the one it speaks.

Commits, aborts, offsets in transactions, fencing, time limits, and a broker that is killed in the middle.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from compat_tests.confluent.conftest import read

LIMIT_S = 60


@pytest.fixture
def transactional(producer: Callable[..., Producer]) -> Callable[..., Producer]:
    """A producer with this transactional id, ready to begin."""

    def make(transactional_id: str, **settings: object) -> Producer:
        made = producer(transactional_id=transactional_id, **settings)
        made.init_transactions(LIMIT_S)
        return made

    return make


def values(consumer: Consumer, topic: str, count: int, partitions: int = 1) -> list[int]:
    """The values of a topic, in order of their numbers: ``count``, and what else comes within a moment."""
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    seen = [int(message.value()) for message in read(consumer, count)]
    seen += [int(message.value()) for message in iter(lambda: consumer.poll(0.2), None)]
    return sorted(seen)


def write(producer: Producer, topic: str, numbers: range, partitions: int = 1) -> None:
    for number in numbers:
        producer.produce(topic, b"%d" % number, partition=number % partitions)


def test_committed_is_read_and_aborted_is_not(make_topic, transactional, consumer, name):
    topic = make_topic(partitions=3)
    producer = transactional(name("id"))
    for round_ in range(4):
        producer.begin_transaction()
        write(producer, topic, range(round_ * 100, round_ * 100 + 100), 3)
        if round_ % 2:
            assert producer.flush(LIMIT_S) == 0
            producer.abort_transaction(LIMIT_S)
        else:
            producer.commit_transaction(LIMIT_S)
    expected = [*range(100), *range(200, 300)]
    assert values(consumer(name("g"), isolation_level="read_committed"), topic, 200, 3) == expected
    assert values(consumer(name("g"), isolation_level="read_uncommitted"), topic, 400, 3) == list(range(400))


def test_offsets_go_with_the_transaction(make_topic, producer, transactional, consumer, name):
    source, target, group = make_topic(), make_topic(), name("group")
    plain = producer()
    write(plain, source, range(40))
    assert plain.flush(LIMIT_S) == 0
    reader = consumer(group, isolation_level="read_committed")
    reader.subscribe([source])
    writer = transactional(name("id"))
    done, aborted = 0, False
    while done < 40:
        batch = [int(message.value()) for message in read(reader, 10)]
        assert batch == list(range(done, done + 10))
        writer.begin_transaction()
        write(writer, target, range(done, done + 10))
        writer.send_offsets_to_transaction(
            [TopicPartition(source, 0, done + 10)], reader.consumer_group_metadata(), LIMIT_S
        )
        if done == 20 and not aborted:
            writer.abort_transaction(LIMIT_S)
            reader.seek(TopicPartition(source, 0, done))
            aborted = True
        else:
            writer.commit_transaction(LIMIT_S)
            done += 10
        (committed,) = reader.committed([TopicPartition(source, 0)], LIMIT_S)
        assert committed.offset == done
    assert values(consumer(name("g"), isolation_level="read_committed"), target, 40) == list(range(40))


def test_a_new_incarnation_fences_the_old(make_topic, transactional, consumer, name):
    topic, transactional_id = make_topic(), name("id")
    old = transactional(transactional_id)
    old.begin_transaction()
    write(old, topic, range(5))
    assert old.flush(LIMIT_S) == 0
    young = transactional(transactional_id)
    write(old, topic, range(5, 6))
    with pytest.raises(KafkaException) as fenced:
        old.commit_transaction(LIMIT_S)
    assert fenced.value.args[0].code() == KafkaError._FENCED
    assert fenced.value.args[0].fatal()
    young.begin_transaction()
    write(young, topic, range(6, 9))
    young.commit_transaction(LIMIT_S)
    assert values(consumer(name("g"), isolation_level="read_committed"), topic, 3) == [6, 7, 8]


def test_time_limits_beyond_the_brokers_are_refused(transactional, name):
    with pytest.raises(KafkaException) as refused:
        transactional(name("id"), transaction_timeout_ms=900_001)
    assert refused.value.args[0].code() == KafkaError.INVALID_TRANSACTION_TIMEOUT


def test_a_transaction_that_takes_too_long_is_aborted(start_target, name):
    broker = start_target({"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"})
    settings = {"bootstrap.servers": broker.bootstrap}
    topic = name()
    late = Producer({**settings, "transactional.id": name("id"), "transaction.timeout.ms": 1000})
    late.init_transactions(LIMIT_S)
    late.begin_transaction()
    write(late, topic, range(1))
    assert late.flush(LIMIT_S) == 0
    plain = Producer(settings)
    write(plain, topic, range(7, 8))
    assert plain.flush(LIMIT_S) == 0
    reader = Consumer({**settings, "group.id": name("g"), "auto.offset.reset": "earliest"})
    try:
        reader.assign([TopicPartition(topic, 0, 0)])
        # Readers of committed records see what follows as soon as the late transaction is out of the way.
        assert [int(message.value()) for message in read(reader, 1)] == [7]
    finally:
        reader.close()
    with pytest.raises(KafkaException):
        late.commit_transaction(LIMIT_S)


def test_the_broker_is_killed_in_the_middle(start_target, name):
    broker = start_target()
    settings = {"bootstrap.servers": broker.bootstrap}
    topic = name()
    producer = Producer({**settings, "transactional.id": name("id")})
    producer.init_transactions(LIMIT_S)
    for round_ in range(4):
        producer.begin_transaction()
        write(producer, topic, range(round_ * 10, round_ * 10 + 10))
        if round_ != 2:
            assert producer.flush(LIMIT_S) == 0
        broker.kill()
        broker.start()
        if round_ % 2:
            producer.abort_transaction(LIMIT_S)
        else:
            producer.commit_transaction(LIMIT_S)
    reader = Consumer({**settings, "group.id": name("g"), "auto.offset.reset": "earliest"})
    try:
        assert values(reader, topic, 20) == [*range(10), *range(20, 30)]
    finally:
        reader.close()
