"""Loads of librdkafka: large batches, one record per request, many partitions, and end-to-end latency."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from compat_tests.harness.process import BrokerProcess
from scripts.bench_job.brokers import Topic
from scripts.bench_job.readings import Reading, microseconds, milliseconds, records_per_s

_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Batches:
    """Produces large batches, spread evenly over the partitions, then consumes all from the beginning."""

    name: str
    partitions: int
    records: int
    size: int = 100

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        settings = {"linger.ms": 20, "batch.size": 1_000_000, "batch.num.messages": 100_000, "acks": "all"}
        with Topic(broker, topic, self.partitions):
            before = broker.cpu_seconds()
            sending = _send(broker, topic, self.partitions, self.records, self.size, settings)
            between = broker.cpu_seconds()
            reading = _read_all(broker, topic, self.partitions, self.records)
            after = broker.cpu_seconds()
        return [
            Reading(f"{self.name}, produce", sending / self.records, records_per_s, between - before),
            Reading(f"{self.name}, consume", reading / self.records, records_per_s, after - between),
        ]


@dataclass(frozen=True)
class OneRecordRequests:
    """acks=1, no linger, one record in a batch: the cost of a request."""

    requests: int
    name: str = field(default="librdkafka, one record per request", init=False)

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        settings = {"linger.ms": 0, "batch.num.messages": 1, "acks": 1}
        with Topic(broker, topic, 1):
            _send(broker, topic, 1, max(self.requests // 10, 1), 100, settings)
            before = broker.cpu_seconds()
            took = _send(broker, topic, 1, self.requests, 100, settings)
            cpu = broker.cpu_seconds() - before
        return [
            Reading(self.name, took / self.requests, records_per_s, cpu),
            Reading("CPU per one-record produce request", max(cpu, 0.01) * 1e6 / self.requests, microseconds),
        ]


@dataclass(frozen=True)
class Latency:
    """From produce() to the consumer's poll() that returns the record, with one record in flight at a time."""

    records: int
    name: str = field(default="end-to-end latency", init=False)

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        with Topic(broker, topic, 1):
            producer = _producer(broker, {"linger.ms": 0, "acks": 1})
            consumer = _consumer(broker)
            consumer.assign([TopicPartition(topic, 0, 0)])
            for _ in range(max(self.records // 10, 20)):
                _there_and_back(producer, consumer, topic)
            before = broker.cpu_seconds()
            times = [_there_and_back(producer, consumer, topic) for _ in range(self.records)]
            cpu = broker.cpu_seconds() - before
            producer.flush(_PATIENCE_S)
            consumer.close()
        cuts = statistics.quantiles(times, n=100)
        return [
            Reading(f"{self.name}, p50", cuts[49] * 1e3, milliseconds, cpu),
            Reading(f"{self.name}, p99", cuts[98] * 1e3, milliseconds),
        ]


def _there_and_back(producer: Producer, consumer: Consumer, topic: str) -> float:
    begun = time.perf_counter()
    producer.produce(topic, b"x" * 100)
    producer.poll(0)
    _checked(consumer.poll(_PATIENCE_S))
    return time.perf_counter() - begun


def _send(
    broker: BrokerProcess, topic: str, partitions: int, records: int, size: int, settings: dict[str, str | int]
) -> float:
    """Return the seconds until every record is acknowledged. Raises KafkaException for the first that fails."""
    producer = _producer(broker, settings)
    value = b"x" * size
    begun = time.perf_counter()
    for number in range(records):
        while True:
            try:
                producer.produce(topic, value, partition=number % partitions)
                break
            except BufferError:  # the client's queue is full
                producer.poll(0.01)
        if not number % 1000:
            producer.poll(0)
    if left := producer.flush(_PATIENCE_S):
        raise TimeoutError(f"{broker.name} has not acknowledged {left:,} records within {_PATIENCE_S:.0f} s")
    return time.perf_counter() - begun


def _read_all(broker: BrokerProcess, topic: str, partitions: int, records: int) -> float:
    """Return the seconds until every record has arrived."""
    consumer = _consumer(broker)
    begun = time.perf_counter()
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    found = 0
    while found < records:
        messages = consumer.consume(10_000, _PATIENCE_S if found == 0 else 1)
        for message in messages:
            if message.error():
                raise KafkaException(message.error())
        found += len(messages)
        if time.perf_counter() - begun > _PATIENCE_S:
            raise TimeoutError(f"{broker.name} gave {found:,} of {records:,} records within {_PATIENCE_S:.0f} s")
    took = time.perf_counter() - begun
    consumer.close()
    return took


def _producer(broker: BrokerProcess, settings: dict[str, str | int]) -> Producer:
    def failed(error: object, message: Message) -> None:
        raise KafkaException(error)

    common = {**_where(broker), "queue.buffering.max.messages": 500_000}
    return Producer({**common, **settings, "delivery.report.only.error": True, "on_delivery": failed})


def _consumer(broker: BrokerProcess) -> Consumer:
    # With a full queue librdkafka's consumer pauses for a second (fetch.queue.backoff.ms), which is no cost of a
    # broker's.
    return Consumer(
        {
            **_where(broker),
            "group.id": "bench",
            "enable.auto.commit": False,
            "check.crcs": False,
            "fetch.queue.backoff.ms": 1,
        }
    )


def _where(broker: BrokerProcess) -> dict[str, str]:
    """Return the connection settings for a broker; one with TLS has its own."""
    return {"bootstrap.servers": broker.bootstrap, **getattr(broker, "client_settings", {})}


def _checked(message: Message | None) -> Message:
    if message is None:
        raise TimeoutError(f"no record within {_PATIENCE_S:.0f} s")
    if message.error():
        raise KafkaException(message.error())
    return message
