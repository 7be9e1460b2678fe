"""What is acknowledged is kept: SIGKILL under load, five times in a row, and a hundred thousand records in and out; with PYKBROKER_LONG,
twenty times and a million.

Producers are idempotent with acks=all and go on through the deaths of the broker. In the end every record is there once,
in the order in which its producer sent it, and Kafka's dump-log finds no fault in any file, as the kills left them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.conftest import LONG
from compat_tests.harness.dump_log import faults
from compat_tests.harness.kafka_tools import KafkaTools
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess

KILLS = 20 if LONG else 5
WRITERS = 3
#: Acknowledgements between a start of the broker and its next death.
BETWEEN_KILLS = 1500
MANY = 1_000_000 if LONG else 100_000


class Acknowledged:
    """Counts what the broker acknowledged, and lets one wait for more."""

    def __init__(self) -> None:
        self.count = 0
        self.errors: list[KafkaError] = []
        self._more = threading.Condition()

    def delivered(self, error: KafkaError | None, _message: object) -> None:
        with self._more:
            if error is not None:
                self.errors.append(error)
            self.count += 1
            self._more.notify_all()

    def wait_for_more(self, more: int) -> None:
        with self._more:
            wanted = self.count + more
            assert self._more.wait_for(lambda: self.count >= wanted or bool(self.errors), 120), (
                "nothing is acknowledged"
            )
            assert not self.errors, self.errors[:3]


class Writer(threading.Thread):
    """Writes numbers to a partition of its own until told to stop; ``sent`` of them."""

    def __init__(self, bootstrap: str, topic: str, partition: int, acknowledged: Acknowledged) -> None:
        super().__init__(daemon=True)
        self.sent = 0
        self.stop = threading.Event()
        self.left = -1
        self._place = (topic, partition)
        self._acknowledged = acknowledged
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 1,
                "message.timeout.ms": 120_000,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 50,
                "retry.backoff.ms": 10,
                "queue.buffering.max.messages": 2000,
            }
        )

    def run(self) -> None:
        topic, partition = self._place
        while not self.stop.is_set():
            try:
                self._producer.produce(
                    topic, b"%d" % self.sent, partition=partition, on_delivery=self._acknowledged.delivered
                )
            except BufferError:
                self._producer.poll(0.05)
                continue
            self.sent += 1
            self._producer.poll(0)
        self.left = self._producer.flush(120)


def read(bootstrap: str, topic: str, partition: int) -> list[bytes]:
    """Every value of a partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, partition, 0)])
    values: list[bytes] = []
    while True:
        for message in consumer.consume(10_000, 0.1):
            error = message.error()
            if error is None:
                values.append(message.value())
            elif error.code() == KafkaError._PARTITION_EOF:
                consumer.close()
                return values
            else:
                raise AssertionError(str(error))


def create(bootstrap: str, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Pykbroker]:
    made = Pykbroker(tmp_path / "broker", {"log.segment.bytes": str(1024 * 1024)})
    made.start()
    yield made
    made.stop()


def test_sigkill_under_load(broker: Pykbroker, kafka_tools: KafkaTools) -> None:
    create(broker.bootstrap, "numbers", WRITERS)
    acknowledged = Acknowledged()
    writers = [Writer(broker.bootstrap, "numbers", partition, acknowledged) for partition in range(WRITERS)]
    for writer in writers:
        writer.start()
    for _ in range(KILLS):
        acknowledged.wait_for_more(BETWEEN_KILLS)
        broker.kill()
        broker.start()
    for writer in writers:
        writer.stop.set()
    for writer in writers:
        writer.join(150)
        assert writer.left == 0
    assert acknowledged.errors == []
    assert acknowledged.count == sum(writer.sent for writer in writers)
    for partition, writer in enumerate(writers):
        assert read(broker.bootstrap, "numbers", partition) == [b"%d" % number for number in range(writer.sent)]
    broker.kill()
    assert faults(kafka_tools, broker.data_dir) == []
    broker.start()
    broker.stop()
    assert faults(kafka_tools, broker.data_dir) == []


def test_many_records_in_and_out(target: BrokerProcess, name) -> None:
    topic = name("many")
    create(target.bootstrap, topic, 1)
    acknowledged = Acknowledged()
    producer = Producer(
        {"bootstrap.servers": target.bootstrap, "linger.ms": 5, "queue.buffering.max.messages": MANY + 1}
    )
    for number in range(MANY):
        producer.produce(topic, b"%0100d" % number, on_delivery=acknowledged.delivered)
        if number % 10_000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0
    assert acknowledged.errors == []
    assert read(target.bootstrap, topic, 0) == [b"%0100d" % number for number in range(MANY)]
