"""Kafka Streams 4.3.1 with exactly_once_v2: an application that is killed and restarted while it counts.

A repartition topic, a state store with its changelog, transactions that hold output, changelog and offsets together.
Left out: joins, windows, the streams group protocol.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.harness.java import compile_java, java_command

WORDS = 7
RECORDS = 6000
LIMIT_S = 90

StartApp = Callable[[], "subprocess.Popen[bytes]"]


@pytest.fixture
def topics(bootstrap: str, name: Callable[..., str]) -> tuple[str, str]:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = name("words"), name("counts")
    for created in admin.create_topics([NewTopic(topic, 2, 1) for topic in made]).values():
        created.result(20)
    return made


@pytest.fixture
def start_app(bootstrap: str, topics: tuple[str, str], name: Callable[..., str], tmp_path: Path) -> Iterator[StartApp]:
    """Starts the application; each start goes on where the one before was stopped."""
    classes = compile_java([Path(__file__).parent / "CountingApp.java"], "streams")
    arguments = [bootstrap, name("app"), str(tmp_path / "state"), *topics]
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        with (tmp_path / "app.log").open("ab") as log:
            command = [*java_command("CountingApp", "streams", classes=classes), *arguments]
            started.append(subprocess.Popen(command, stdout=log, stderr=log))
        return started[-1]

    yield start
    for app in started:
        app.kill()
        app.wait()


def feed(bootstrap: str, topic: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for number in numbers:
        producer.produce(topic, b"word %d" % (number % WORDS), key=b"%d" % number)
    assert producer.flush(60) == 0


def test_counts_are_exact_though_the_application_is_killed(bootstrap, topics, start_app, name):
    words, counts = topics
    feed(bootstrap, words, range(RECORDS // 2))
    app = start_app()
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
        app.wait()
        start_app()
        feed(bootstrap, words, range(RECORDS // 2, RECORDS))
        read_until(RECORDS)
    finally:
        reader.close()
    for word in range(WORDS):
        counted = seen[b"word %d" % word]
        assert counted == sorted(set(counted)), "a count came twice, or went back"
        assert counted[-1] == len(range(word, RECORDS, WORDS))
