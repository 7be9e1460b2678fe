"""One data folder, served by Apache Kafka and by pykbroker in turn: stopped cleanly, and killed.

Topics with their settings, compressed, compacted and transactional records, producers' sequences, groups and
their committed offsets must be there after each change of hands, and Kafka's dump-log must find no fault in any file.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.dump_log import faults
from compat_tests.harness.kafka_tools import KafkaTools
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess

TOPICS = {
    "plain": {"segment.bytes": "1048576", "retention.ms": "123456789"},
    "compacted": {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.01"},
    "transactional": {},
}
RECORDS, KEYS = 3000, 50


class Story:
    """What was done to the folder, and what must be found in it."""

    def __init__(self) -> None:
        self.plain: list[bytes] = []
        self.newest: dict[bytes, bytes] = {}
        self.committed: list[bytes] = []
        self.position = 0

    def create_topics(self, broker: BrokerProcess) -> None:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        new = [NewTopic(name, 1, 1, config=config) for name, config in TOPICS.items()]
        for created in admin.create_topics(new).values():
            created.result()

    def write(self, broker: BrokerProcess, turn: str) -> None:
        """Another chapter: compressed and idempotent, compacted, and transactions that end both ways."""
        producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap,
                "enable.idempotence": True,
                "compression.type": "lz4",
                "linger.ms": 5,
            }
        )
        for number in range(RECORDS):
            value = f"{turn} {number} ".encode() + b"x" * 500
            producer.produce("plain", value)
            self.plain.append(value)
            key = b"key %d" % (number % KEYS)
            producer.produce("compacted", value, key)
            self.newest[key] = value
        assert producer.flush(60) == 0
        self._write_transactions(broker, turn)

    def _write_transactions(self, broker: BrokerProcess, turn: str) -> None:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "both-ways"})
        producer.init_transactions(30)
        for number in range(4):
            producer.begin_transaction()
            values = [f"{turn} {number} {record}".encode() for record in range(20)]
            for value in values:
                producer.produce("transactional", value)
            producer.flush()
            if number % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
                self.committed += values

    def check(self, broker: BrokerProcess) -> None:
        """All of it is there, and the group is where it was left."""
        assert [value for _, value in read(broker, "plain")] == self.plain
        assert dict(read(broker, "compacted")) == self.newest
        assert [value for _, value in read(broker, "transactional")] == self.committed
        self._check_group(broker)
        self._check_topics(broker)

    def _check_group(self, broker: BrokerProcess) -> None:
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "reader"})
        (found,) = consumer.committed([TopicPartition("plain", 0)], 30)
        assert max(found.offset, 0) == self.position
        self.position = len(self.plain)
        consumer.commit(offsets=[TopicPartition("plain", 0, self.position)], asynchronous=False)
        consumer.close()

    def _check_topics(self, broker: BrokerProcess) -> None:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        described = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, name) for name in TOPICS])
        for resource, entries in described.items():
            found = {name: entry.value for name, entry in entries.result().items()}
            assert TOPICS[resource.name].items() <= found.items()


def read(broker: BrokerProcess, topic: str) -> list[tuple[bytes | None, bytes]]:
    """All committed records of partition 0."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "unused",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[tuple[bytes | None, bytes]] = []
    while (message := consumer.poll(30)) is not None:
        error = message.error()
        if error is None:
            found.append((message.key(), message.value()))
        elif error.code() == KafkaError._PARTITION_EOF:
            consumer.close()
            return found
        elif error.fatal():
            raise KafkaException(error)
    raise AssertionError(f"no end of {topic} in sight after {len(found)} records")


@pytest.fixture
def apache(tmp_path: Path) -> Iterator[ApacheKafka]:
    broker = ApacheKafka(tmp_path / "shared", {"log.cleaner.backoff.ms": "500"})
    yield broker
    broker.stop()


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Pykbroker]:
    broker = Pykbroker(tmp_path / "shared", {"log.cleaner.backoff.ms": "500"})
    yield broker
    broker.stop()


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_back_and_forth(
    apache: ApacheKafka, ours: Pykbroker, kafka_tools: KafkaTools, tmp_path: Path, end: str
) -> None:
    story = Story()
    apache.start()
    story.create_topics(apache)
    for turn, broker in enumerate((apache, ours, apache, ours)):
        if broker.process is None:
            broker.start()
        if turn:
            story.check(broker)
        story.write(broker, f"turn {turn}")
        story.check(broker)
        getattr(broker, end)()
    # Kafka preallocates index files, which dump-log refuses as they are after a kill: ours have the last word.
    copy = shutil.copytree(ours.data_dir, tmp_path / "copy", ignore=shutil.ignore_patterns("__cluster_metadata-*"))
    assert faults(kafka_tools, Path(copy)) == []
