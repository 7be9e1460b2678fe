"""Writes and reads whole topics, for tests of programs that copy or transform topics."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

LIMIT_S = 60


def make_topics(bootstrap: str, *topics: str, partitions: int = 1, **configs: str) -> None:
    """Create topics; ``**{"cleanup.policy": "compact"}`` are their settings."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = admin.create_topics([NewTopic(topic, partitions, 1, config=configs) for topic in topics])
    for created in made.values():
        created.result(LIMIT_S)


def write(bootstrap: str, topic: str, values: Iterable[str], *, partition: int = 0) -> None:
    """Produce ``values`` to one partition and wait until all are acknowledged."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    failed: list[object] = []
    for value in values:
        producer.produce(
            topic, value.encode(), partition=partition, on_delivery=lambda error, _: error and failed.append(error)
        )
    assert producer.flush(LIMIT_S) == 0
    assert not failed, failed


def committed(bootstrap: str, topic: str) -> list[Message]:
    """Return the committed records of ``topic``, partition by partition; none for an unknown topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "only-reads",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    found: dict[int, list[Message]] = {}
    try:
        described = consumer.list_topics(topic, LIMIT_S).topics[topic]
        if described.error is not None:
            return []
        ends = {index: _end(consumer, topic, index) for index in described.partitions}
        ends = {index: end for index, end in ends.items() if end}
        consumer.assign([TopicPartition(topic, index, 0) for index in ends])
        while ends:
            for message in consumer.consume(1000, 1):
                index, error = message.partition(), message.error()
                if error is not None:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    ends.pop(index, None)
                elif message.offset() < ends.get(index, 0):
                    found.setdefault(index, []).append(message)
                else:
                    ends.pop(index, None)  # the topic may grow meanwhile: later records are left to the next call
    finally:
        consumer.close()
    return [message for partition in sorted(found) for message in found[partition]]


def _end(consumer: Consumer, topic: str, partition: int) -> int:
    """Return the end offset; 0 if the partition is new and its broker does not lead it yet."""
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, partition), LIMIT_S)[1]
    except KafkaException as refused:
        if refused.args[0].code() in (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.UNKNOWN_TOPIC_OR_PART):
            return 0
        raise


def values(bootstrap: str, topic: str) -> list[str]:
    """Return the values of all committed records of ``topic``, partition by partition."""
    return [message.value().decode() for message in committed(bootstrap, topic)]
