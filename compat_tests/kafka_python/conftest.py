"""Fixtures of the kafka-python suite: an admin client, a topic, producers and consumers that close themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

from pykbroker.tests.kit.leftovers import collect_leftovers

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # kafka-python leaves some of its sockets to the garbage collector, also where a client is closed.
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


leftovers = pytest.fixture(autouse=True)(collect_leftovers)


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
            settings = {"auto_offset_reset": "earliest", "consumer_timeout_ms": 60_000, **settings}
            return stack.enter_context(closing(KafkaConsumer(*topics, bootstrap_servers=bootstrap, **settings)))

        yield make
