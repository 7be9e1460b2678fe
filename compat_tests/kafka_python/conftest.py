"""Fixtures of the kafka-python suite: an admin client, a topic, producers and consumers that close themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer


@pytest.fixture(scope="module")
def admin(bootstrap: str) -> Iterator[KafkaAdminClient]:
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as client:
        yield client


@pytest.fixture
def make_topic(admin: KafkaAdminClient, name: Callable[..., str]) -> Callable[..., str]:
    """Creates a topic of this test's own: ``make_topic(partitions=3, **{"cleanup.policy": "compact"})``."""

    def make(partitions: int = 1, **configs: str) -> str:
        topic = name()
        admin.create_topics({topic: {"num_partitions": partitions, "replication_factor": 1, "configs": configs}})
        return topic

    return make


@pytest.fixture
def producer(bootstrap: str) -> Iterator[Callable[..., KafkaProducer]]:
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(closing(KafkaProducer(bootstrap_servers=bootstrap, **settings)))


@pytest.fixture
def consumer(bootstrap: str) -> Iterator[Callable[..., KafkaConsumer]]:
    with ExitStack() as stack:

        def make(*topics: str, **settings: object) -> KafkaConsumer:
            settings = {"auto_offset_reset": "earliest", "consumer_timeout_ms": 20_000, **settings}
            return stack.enter_context(closing(KafkaConsumer(*topics, bootstrap_servers=bootstrap, **settings)))

        yield make
