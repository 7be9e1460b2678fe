"""Kafka Streams 4.3.1 with exactly_once_v2: an application that is killed and restarted while it counts.

A repartition topic, a state store with its changelog, transactions that hold output, changelog and offsets together.
Joins and windows have a file of their own (``test_joins``). Left out: the streams group protocol.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from compat_tests.harness.records import make_topics
from compat_tests.streams.app import StreamsApp

WORDS = 7
RECORDS = 6000
LIMIT_S = 180


@pytest.fixture
def topics(bootstrap: str, name: Callable[..., str]) -> tuple[str, str]:
    made = name("words"), name("counts")
    make_topics(bootstrap, *made, partitions=2)
    return made


@pytest.fixture
def app(bootstrap: str, topics: tuple[str, str], name: Callable[..., str], tmp_path: Path) -> Iterator[StreamsApp]:
    app = StreamsApp(tmp_path, "CountingApp", bootstrap, name("app"), *topics)
    yield app
    app.kill()


def feed(bootstrap: str, topic: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for number in numbers:
        producer.produce(topic, b"word %d" % (number % WORDS), key=b"%d" % number)
    assert producer.flush(60) == 0


def test_counts_are_exact_though_the_application_is_killed(bootstrap, topics, app, name):
    words, counts = topics
    feed(bootstrap, words, range(RECORDS // 2))
    app.start()
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": name("g"), "isolation.level": "read_committed"})
    seen: dict[bytes, list[int]] = {b"word %d" % word: [] for word in range(WORDS)}

    def read_until(total: int) -> None:
        """Reads committed counts until the last of each word add up to ``total``."""
        deadline = time.monotonic() + LIMIT_S
        while sum(found[-1] for found in seen.values() if found) < total:
            assert time.monotonic() < deadline, seen
            message = reader.poll(1)
            if message is not None:
                assert message.error() is None, message.error()
                seen[message.key()].append(int(message.value()))

    try:
        reader.assign([TopicPartition(counts, partition, 0) for partition in range(2)])
        read_until(RECORDS // 20)
        app.kill()  # with a transaction open, most likely
        app.start()
        feed(bootstrap, words, range(RECORDS // 2, RECORDS))
        read_until(RECORDS)
    finally:
        reader.close()
    for word in range(WORDS):
        counted = seen[b"word %d" % word]
        assert counted == sorted(set(counted)), "a count came twice, or went back"
        assert counted[-1] == len(range(word, RECORDS, WORDS))
