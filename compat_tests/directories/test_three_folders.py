"""The folders of three brokers of one process, each served by Apache Kafka as the node that it is, and back: copies and all."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.harness.apache import ApacheBroker, ApacheKafka
from compat_tests.harness.awaiting import until
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess

TOPIC, PARTITIONS, EACH = "copied", 3, 50
_SETTINGS = {"min.insync.replicas": "2", "default.replication.factor": "3"}
_LIMIT_S = 120


def all_in_sync(bootstrap: str) -> bool:
    found = AdminClient({"bootstrap.servers": bootstrap}).list_topics(TOPIC, timeout=10).topics[TOPIC].partitions
    return len(found) == PARTITIONS and all(len(each.isrs) == 3 and each.leader > 0 for each in found.values())


def produce(bootstrap: str, first: int) -> None:
    """Values from ``first`` on, acknowledged by all."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for value in range(first, first + EACH):
        producer.produce(TOPIC, b"%d" % value, partition=value % PARTITIONS)
    assert producer.flush(_LIMIT_S) == 0


def read(bootstrap: str, number: int) -> list[int]:
    """The values, in the order of numbers."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)])
    values: list[int] = []
    deadline = time.monotonic() + _LIMIT_S
    while len(values) < number:
        assert time.monotonic() < deadline, f"{len(values)} of {number}"
        values += [int(each.value() or b"") for each in consumer.consume(100, 0.5) if each.error() is None]
    consumer.close()
    return sorted(values)


def go_on(bootstrap: str, turn: int) -> None:
    """All is in sync, what was is read, and more is written."""
    until(lambda: all_in_sync(bootstrap), "not all replicas are in sync", limit_s=_LIMIT_S)
    assert read(bootstrap, turn * EACH) == [*range(turn * EACH)]
    produce(bootstrap, turn * EACH)


@contextmanager
def running(ours: Pykbroker) -> Iterator[None]:
    ours.start()
    try:
        yield
    finally:
        assert ours.stop() == 0


def segments(data: Path) -> list[list[bytes]]:
    """The records' files of each partition, in the three folders."""
    return [
        [(data / str(node) / f"{TOPIC}-{index}" / f"{0:020d}.log").read_bytes() for node in (1, 2, 3)]
        for index in range(PARTITIONS)
    ]


def test_each_folder_is_a_node_s(tmp_path: Path) -> None:
    ours = Pykbroker(tmp_path / "ours", _SETTINGS, brokers=3)
    with running(ours):
        bootstrap = ours.bootstrap
        admin = AdminClient({"bootstrap.servers": bootstrap})
        for created in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3)]).values():
            created.result()
        go_on(bootstrap, 0)
    for copies in segments(ours.data_dir):
        assert copies[0] == copies[1] == copies[2]

    first = ApacheKafka(tmp_path / "first", {**_SETTINGS, "log.dirs": str(ours.data_dir / "1")})
    first.data_dir = ours.data_dir / "1"
    nodes: list[BrokerProcess] = [first]
    try:
        first.start()
        for node in (2, 3):
            other = ApacheBroker(
                tmp_path / f"node{node}", first, node, {**_SETTINGS, "log.dirs": str(ours.data_dir / str(node))}
            )
            other.data_dir = ours.data_dir / str(node)
            nodes.append(other)
            other.start()
        go_on(first.bootstrap, 1)
    finally:
        for started in reversed(nodes):
            started.stop()

    with running(ours):
        go_on(ours.bootstrap, 2)
        assert read(ours.bootstrap, 3 * EACH) == [*range(3 * EACH)]
    for copies in segments(ours.data_dir):
        assert copies[0] == copies[1] == copies[2]
