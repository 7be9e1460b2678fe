"""The topic that is compacted: every key is written twice, so that half of the records remain."""

from __future__ import annotations

import random
import time
from pathlib import Path

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from compat_tests.harness.process import BrokerProcess

TOPIC = "compacted"
_SEGMENT_BYTES = 100 * 1024 * 1024
_PATIENCE_S = 170.0
#: Number of closed segments; the active one holds a single record.
_LEFT_AT_MOST = 0.55


def load(broker: BrokerProcess, keys: int, value_bytes: int) -> int:
    """Write every key twice, in two random orders, without compaction; returns the size of the log in bytes."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    settings = {"cleanup.policy": "delete", "segment.bytes": str(_SEGMENT_BYTES)}
    admin.create_topics([NewTopic(TOPIC, 1, 1, config=settings)])[TOPIC].result(30)
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "linger.ms": 50,
            "batch.size": 1_000_000,
            "queue.buffering.max.messages": 200_000,
            "delivery.report.only.error": True,
            "on_delivery": _failed,
        }
    )
    rng = random.Random(1)
    padding = rng.randbytes(value_bytes - 8)
    for round_ in range(2):
        numbers = list(range(keys))
        rng.shuffle(numbers)
        for number in numbers:
            _send(producer, b"key-%08d" % number, b"%08d" % round_ + padding)
    if producer.flush(_PATIENCE_S):
        raise TimeoutError(f"{broker.name} has not acknowledged all records within {_PATIENCE_S:.0f} s")
    return bytes_on_disk(broker)


def _send(producer: Producer, key: bytes, value: bytes) -> None:
    while True:
        try:
            producer.produce(TOPIC, value, key)
            return
        except BufferError:  # the client's queue is full
            producer.poll(0.01)


def _failed(error: object, message: object) -> None:
    raise KafkaException(error)


def begin_compaction(broker: BrokerProcess) -> None:
    """Make the topic a compacted one, whose data is all in closed segments but for one last record."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in (("segment.ms", "1"), ("cleanup.policy", "compact"))
    ]
    resource = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result(30)
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap, "on_delivery": _failed, "delivery.report.only.error": True}
    )
    producer.produce(TOPIC, b"the last", b"last")
    producer.flush(30)


def wait_until_clean(broker: BrokerProcess, before: int) -> int:
    """Wait until no key is there twice, and return the remaining bytes. Raises TimeoutError."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        left = bytes_on_disk(broker)
        if left < before * _LEFT_AT_MOST and not _unfinished(broker):
            return left
        time.sleep(0.05)
    raise TimeoutError(f"{broker.name} has not compacted the topic within {_PATIENCE_S:.0f} s")


def bytes_on_disk(broker: BrokerProcess) -> int:
    """Return the size of the log's segments, without those renamed for deletion."""
    return sum(_size(path) for path in _folder(broker).glob("*.log"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # renamed meanwhile
        return 0


def _unfinished(broker: BrokerProcess) -> bool:
    return any(_folder(broker).glob("*.cleaned")) or any(_folder(broker).glob("*.swap"))


def _folder(broker: BrokerProcess) -> Path:
    return broker.data_dir / f"{TOPIC}-0"
