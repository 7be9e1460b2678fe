"""Clients go on while each of three brokers is stopped and started and leaders are moved: nothing is lost, nothing comes
twice, order is kept, and no client complains.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ElectionType, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.brokers.traffic import JavaTraffic, LibrdkafkaTraffic, Traffic
from compat_tests.harness.kafka_tools import KafkaTools
from compat_tests.harness.ours import Pykbroker

PARTITIONS = 3
LIMIT_S = 150
_SETTINGS = {
    "offsets.topic.num.partitions": "6",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "6",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "min.insync.replicas": "2",
    "default.replication.factor": "3",
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Pykbroker]:
    brokers = Pykbroker(tmp_path / "brokers", _SETTINGS, brokers=3)
    brokers.start()
    yield brokers
    brokers.stop()


@pytest.fixture
def bootstrap(cluster: Pykbroker) -> str:
    return ",".join(cluster.addresses.values())


def reassign(tools: KafkaTools, bootstrap: str, topic: str, first: int, path: Path) -> None:
    """Every partition of the topic to all brokers, the next one in turn preferred."""
    partitions = [
        {"topic": topic, "partition": index, "replicas": [(first + index + step) % 3 + 1 for step in range(3)]}
        for index in range(PARTITIONS)
    ]
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    options = ["--bootstrap-server", bootstrap, "--reassignment-json-file", str(path), "--execute"]
    moved = tools("reassign-partitions", *options)
    assert moved.status == 0, moved.text


def go_on(traffic: list[Traffic]) -> None:
    """Wait until every count has grown by a good piece."""
    wanted = [[count + 60 for count in each.progress()] for each in traffic]
    deadline = time.monotonic() + LIMIT_S
    while True:
        now = [each.progress() for each in traffic]
        if all(a >= b for have, want in zip(now, wanted, strict=True) for a, b in zip(have, want, strict=True)):
            return
        assert time.monotonic() < deadline, f"no progress: {now}, wanted {wanted}, {[each.errors for each in traffic]}"
        time.sleep(0.02)


def read_all(bootstrap: str, topic: str, total: int) -> list[list[int]]:
    """The committed values of every partition, ``total`` in all, and whatever comes in a moment after."""
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "isolation.level": "read_committed"})
    reader.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
    values: list[list[int]] = [[] for _ in range(PARTITIONS)]
    deadline = time.monotonic() + LIMIT_S
    while sum(map(len, values)) < total:
        assert time.monotonic() < deadline, f"{topic}: {sum(map(len, values))} of {total}"
        message = reader.poll(0.5)
        if message is not None and message.error() is None:
            values[message.partition()].append(int(message.value()))
    late = reader.poll(0.5)
    reader.close()
    assert late is None or late.error() is not None
    return values


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_clients_go_on(protocol, cluster, bootstrap, kafka_tools, tmp_path):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = ["java", "copies", "librdkafka"]
    for created in admin.create_topics([NewTopic(topic, PARTITIONS, 3) for topic in topics]).values():
        created.result(60)
    java = JavaTraffic(bootstrap, "java", PARTITIONS, "copies", "copiers", protocol)
    traffic = [java, LibrdkafkaTraffic(bootstrap, "librdkafka", PARTITIONS, "readers")]
    try:
        go_on(traffic)
        for broker in (1, 2, 3):
            cluster.change_broker("stop", broker, *(["--abrupt"] if broker == 2 else []))
            go_on(traffic)
            cluster.change_broker("start", broker)
            reassign(kafka_tools, bootstrap, "java", broker, tmp_path / "moves.json")
            admin.elect_leaders(ElectionType.PREFERRED, None).result(60)
            go_on(traffic)
        totals = [each.stop_sending() for each in traffic]
        expected = {"java": totals[0], "copies": totals[0], "librdkafka": totals[1]}
        for topic, total in expected.items():
            assert read_all(bootstrap, topic, total) == [list(range(p, total, PARTITIONS)) for p in range(PARTITIONS)]
    finally:
        for each in traffic:
            each.close()
    assert [each.errors for each in traffic] == [[], []]
