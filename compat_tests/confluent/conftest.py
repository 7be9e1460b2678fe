"""Fixtures of the confluent-kafka suite: librdkafka's clients, closed when the test ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic


@pytest.fixture(scope="module")
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})


@pytest.fixture
def make_topic(admin: AdminClient, name: Callable[..., str]) -> Callable[..., str]:
    """Creates a topic of this test's own: ``make_topic(partitions=3, **{"cleanup.policy": "compact"})``."""

    def make(partitions: int = 1, **configs: str) -> str:
        topic = name()
        admin.create_topics([NewTopic(topic, partitions, 1, config=configs)])[topic].result(60)
        return topic

    return make


@pytest.fixture
def producer(bootstrap: str) -> Callable[..., Producer]:
    return lambda **settings: Producer({"bootstrap.servers": bootstrap, **dotted(settings)})


@pytest.fixture
def consumer(bootstrap: str) -> Iterator[Callable[..., Consumer]]:
    """Makes consumers that read from the beginning, commit only when told, and beat ten times a second."""
    made: list[Consumer] = []

    def make(group: str, **settings: object) -> Consumer:
        made.append(
            Consumer(
                {
                    "bootstrap.servers": bootstrap,
                    "group.id": group,
                    "auto.offset.reset": "earliest",
                    "enable.auto.commit": False,
                    "heartbeat.interval.ms": 100,
                    **dotted(settings),
                }
            )
        )
        return made[-1]

    yield make
    for each in made:
        each.close()


def dotted(settings: dict[str, object]) -> dict[str, object]:
    """``linger_ms=5`` is librdkafka's ``linger.ms``."""
    return {key.replace("_", "."): value for key, value in settings.items()}


def send(producer: Producer, topic: str, values: list[bytes | None], **options: object) -> list[Message]:
    """Produces all values and returns their delivery reports in order; a failed delivery is still a report."""
    reports: list[Message] = []
    for value in values:
        producer.produce(topic, value, on_delivery=lambda _error, message: reports.append(message), **options)
    assert producer.flush(60) == 0, "some records were neither delivered nor refused"
    return reports


def read(consumer: Consumer, count: int) -> list[Message]:
    """The next ``count`` records; fails when none comes for a minute."""
    messages: list[Message] = []
    while len(messages) < count:
        batch = consumer.consume(count - len(messages), timeout=60)
        assert batch, f"only {len(messages)} of {count} records came"
        for message in batch:
            assert message.error() is None, message.error()
        messages += batch
    return messages
