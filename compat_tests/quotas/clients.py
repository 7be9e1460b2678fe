"""Producers and consumers of stock clients, each a process of its own, that write or read as fast as they may; and one that has a pace.

``python -m compat_tests.quotas.clients librdkafka producer HOST:PORT CLIENT-ID TOPIC`` goes on until it is killed. Requests are
small beside the quota.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable

import kafka
from confluent_kafka import Consumer, Producer, TopicPartition

VALUE = bytes(5000)
FETCH = 20_000


def librdkafka_producer(bootstrap: str, client: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": client, "batch.size": 10_000, "linger.ms": 0})
    while True:
        while len(producer) < 50:
            producer.produce(topic, VALUE)
        producer.poll(0.01)


def steady_producer(bootstrap: str, client: str, topic: str) -> None:
    """Two records every ten milliseconds, which is twice the quota that others have."""
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": client, "batch.size": 10_000, "linger.ms": 0})
    begin = time.monotonic()
    for number in itertools.count():
        while time.monotonic() < begin + number * 0.01:
            producer.poll(0.001)
        for _ in range(2):
            producer.produce(topic, VALUE)


def librdkafka_consumer(bootstrap: str, client: str, topic: str) -> None:
    settings = {"bootstrap.servers": bootstrap, "client.id": client, "group.id": client}
    consumer = Consumer(
        {**settings, "fetch.message.max.bytes": FETCH, "queued.min.messages": 1000, "fetch.queue.backoff.ms": 1}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    while True:
        consumer.consume(100, 0.01)


def kafka_python_producer(bootstrap: str, client: str, topic: str) -> None:
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, client_id=client, batch_size=10_000)
    waiting: list[kafka.future.Future] = []
    while True:
        while len(waiting) < 50:
            waiting.append(producer.send(topic, VALUE))
        time.sleep(0.001)
        waiting = [future for future in waiting if not future.is_done]


def kafka_python_consumer(bootstrap: str, client: str, topic: str) -> None:
    settings = {"bootstrap_servers": bootstrap, "client_id": client}
    consumer = kafka.KafkaConsumer(**settings, fetch_max_bytes=FETCH, max_partition_fetch_bytes=FETCH)
    consumer.assign([kafka.TopicPartition(topic, 0)])
    consumer.seek_to_beginning()
    while True:
        consumer.poll(10)


#: By name of the library and what it does.
WORK: dict[str, Callable[[str, str, str], None]] = {
    "librdkafka producer": librdkafka_producer,
    "steady producer": steady_producer,
    "librdkafka consumer": librdkafka_consumer,
    "kafka-python producer": kafka_python_producer,
    "kafka-python consumer": kafka_python_consumer,
}

if __name__ == "__main__":
    library, role, *where = sys.argv[1:]
    WORK[f"{library} {role}"](*where)
