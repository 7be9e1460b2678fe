"""Producers and consumers of stock clients, each a process of its own, that write or read as fast as they may; and one that has a pace.

``python -m compat_tests.quotas.clients librdkafka producer HOST:PORT CLIENT-ID TOPIC SECONDS`` prints what was written or read
until when, as JSON: pairs of seconds and of bytes so far. Values are large beside what protocols add to them, and requests small
beside the quota.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable

import kafka
from confluent_kafka import Consumer, Producer, TopicPartition

VALUE = bytes(5000)
#: Bytes of a batch with one of them, as quotas count it.
ON_THE_WIRE = 5074
FETCH = 20_000


class Uses:
    """How many bytes have been used until when, from the beginning on."""

    def __init__(self, seconds: float) -> None:
        self.begin = time.monotonic()
        self._until = self.begin + seconds
        self.points: list[tuple[float, int]] = [(0.0, 0)]

    @property
    def over(self) -> bool:
        return time.monotonic() > self._until

    def add(self, records: int) -> None:
        self.points.append((time.monotonic() - self.begin, self.points[-1][1] + records * ON_THE_WIRE))


def librdkafka_producer(bootstrap: str, client: str, topic: str, uses: Uses) -> None:
    settings = {"bootstrap.servers": bootstrap, "client.id": client, "batch.size": 10_000, "linger.ms": 0}
    producer = Producer(settings)
    while not uses.over:
        while len(producer) < 50:
            producer.produce(topic, VALUE, on_delivery=lambda error, _: error or uses.add(1))
        producer.poll(0.01)
    producer.purge()


def steady_producer(bootstrap: str, client: str, topic: str, uses: Uses) -> None:
    """Two records every five milliseconds, which is twice the quota that others have."""
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": client, "batch.size": 10_000, "linger.ms": 0})
    for number in itertools.count():
        while not uses.over and time.monotonic() < uses.begin + number * 0.005:
            producer.poll(0.001)
        if uses.over:
            break
        for _ in range(2):
            producer.produce(topic, VALUE, on_delivery=lambda error, _: error or uses.add(1))
    producer.flush()


def librdkafka_consumer(bootstrap: str, client: str, topic: str, uses: Uses) -> None:
    settings = {"bootstrap.servers": bootstrap, "client.id": client, "group.id": client}
    consumer = Consumer(
        {**settings, "fetch.message.max.bytes": FETCH, "queued.min.messages": 1000, "fetch.queue.backoff.ms": 1}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    while not uses.over:
        uses.add(len(consumer.consume(100, 0.01)))
    consumer.close()


def kafka_python_producer(bootstrap: str, client: str, topic: str, uses: Uses) -> None:
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, client_id=client, batch_size=10_000)
    waiting = []
    while not uses.over:
        while len(waiting) < 50:
            waiting.append(producer.send(topic, VALUE).add_callback(lambda _: uses.add(1)))
        time.sleep(0.001)
        waiting = [future for future in waiting if not future.is_done]


def kafka_python_consumer(bootstrap: str, client: str, topic: str, uses: Uses) -> None:
    settings = {"bootstrap_servers": bootstrap, "client_id": client}
    consumer = kafka.KafkaConsumer(**settings, fetch_max_bytes=FETCH, max_partition_fetch_bytes=FETCH)
    consumer.assign([kafka.TopicPartition(topic, 0)])
    consumer.seek_to_beginning()
    while not uses.over:
        for records in consumer.poll(10).values():
            uses.add(len(records))


#: By name of the library and what it does.
WORK: dict[str, Callable[[str, str, str, Uses], None]] = {
    "librdkafka producer": librdkafka_producer,
    "steady producer": steady_producer,
    "librdkafka consumer": librdkafka_consumer,
    "kafka-python producer": kafka_python_producer,
    "kafka-python consumer": kafka_python_consumer,
}

if __name__ == "__main__":
    library, role, bootstrap, client, topic, seconds = sys.argv[1:]
    uses = Uses(float(seconds))
    WORK[f"{library} {role}"](bootstrap, client, topic, uses)
    print(json.dumps(uses.points))
