"""Topics and records for Spark to read, made with librdkafka so that Spark's own client is the one thing under test."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from concurrent.futures import Future

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

NAMES = itertools.count(1)
Headers = list[tuple[str, bytes | None]]


class Topics:
    """Makes, fills, shortens and deletes topics on one broker; every call returns when the broker has answered."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap})

    @staticmethod
    def fresh_name(stem: str = "spark") -> str:
        """A topic name that no other test of this run has."""
        return f"{stem}-{next(NAMES)}"

    def create(self, partitions: int = 1, name: str | None = None, **settings: str) -> str:
        """Creates a topic (settings with ``_`` for ``.``) and returns its name."""
        name = name or self.fresh_name()
        config = {setting.replace("_", "."): value for setting, value in settings.items()}
        _wait(self._admin.create_topics([NewTopic(name, partitions, 1, config=config)]))
        return name

    def delete(self, *names: str) -> None:
        _wait(self._admin.delete_topics(list(names), operation_timeout=30))

    def add_partitions(self, name: str, total: int) -> None:
        _wait(self._admin.create_partitions([NewPartitions(name, total)]))

    def delete_records(self, name: str, before: int, partition: int = 0) -> None:
        """Moves the log start offset to ``before``, as retention does."""
        _wait(self._admin.delete_records([TopicPartition(name, partition, before)]))

    def log_start(self, name: str, partition: int = 0) -> int:
        """The log start offset."""
        place = TopicPartition(name, partition)
        return self._admin.list_offsets({place: OffsetSpec.earliest()})[place].result(timeout=30).offset

    def latest(self, name: str, partition: int = 0) -> int:
        """The offset of the next record."""
        place = TopicPartition(name, partition)
        return self._admin.list_offsets({place: OffsetSpec.latest()})[place].result(timeout=30).offset

    def configure(self, name: str, **settings: str) -> None:
        """Sets settings of the topic (``_`` for ``.``)."""
        changes = [
            ConfigEntry(setting.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
            for setting, value in settings.items()
        ]
        _wait(self._admin.incremental_alter_configs([ConfigResource("topic", name, incremental_configs=changes)]))

    def send(
        self,
        topic: str,
        values: Iterable[str | int],
        partition: int = 0,
        *,
        timestamps: Sequence[int] | None = None,
        headers: Headers | None = None,
        key: bytes | None = None,
        codec: str = "none",
    ) -> None:
        """Appends one record per value to one partition, in one batch where they fit; timestamps in epoch ms."""
        producer = self._producer(codec)
        failures: list[object] = []
        for index, value in enumerate(values):
            producer.produce(
                topic,
                str(value).encode(),
                key=key,
                partition=partition,
                timestamp=timestamps[index] if timestamps else 0,
                headers=headers,
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
        assert producer.flush(30) == 0, "the broker did not take the records within 30 s"
        assert not failures, failures

    def send_raw(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        """Appends one record to partition 0 as it is, nulls too."""
        producer = self._producer()
        producer.produce(topic, value, key, partition=0)
        assert producer.flush(30) == 0

    def receive(self, topic: str) -> list[Message]:
        """Every record of the topic, from its beginning to where it ends now, partition by partition."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "unused", "enable.partition.eof": True})
        partitions = consumer.list_topics(topic, 30).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        found: list[Message] = []
        ended: set[int | None] = set()
        while len(ended) < len(partitions):
            message = consumer.poll(30)
            assert message is not None, "the broker sent neither records nor the end of a partition for 30 s"
            error = message.error()
            if error is None:
                found.append(message)
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(message.partition())
        consumer.close()
        return found

    def names(self) -> set[str]:
        return set(self._admin.list_topics(timeout=30).topics)

    def leaders(self, name: str) -> list[int]:
        """The node id of the leader of each partition."""
        partitions = self._admin.list_topics(name, timeout=30).topics[name].partitions
        return [partitions[number].leader for number in sorted(partitions)]

    def make_internal_topic(self) -> None:
        """Commits an offset, so that ``__consumer_offsets`` exists and has a record."""
        topic = self.create()
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": topic})
        consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
        consumer.close()

    def _producer(self, codec: str = "none") -> Producer:
        return Producer({"bootstrap.servers": self.bootstrap, "compression.type": codec, "linger.ms": 20})


def _wait(futures: dict[object, Future[object]]) -> None:
    for future in futures.values():
        future.result(timeout=30)
