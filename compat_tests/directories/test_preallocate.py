"""Segments made as long as they may become: each broker goes on where the other one stopped, or was killed."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.directories.files import faults
from compat_tests.directories.log_directories import SharedLogDirectories

TOPIC = "preallocated"
SEGMENT_BYTES = 1024 * 1024
_TURNS = ["ours stop", "kafka kill", "ours kill", "kafka stop", "ours stop"]


def produce(directories: SharedLogDirectories, first: int, count: int) -> None:
    failed = []
    producer = Producer({"bootstrap.servers": directories.bootstrap, "linger.ms": 5, "enable.idempotence": True})
    for number in range(first, first + count):
        producer.produce(
            TOPIC, b"%d" % number + bytes(5000), on_delivery=lambda error, _: failed.append(error) if error else None
        )
    assert producer.flush(60) == 0
    assert failed == []


def consume(directories: SharedLogDirectories, count: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": directories.bootstrap, "group.id": "g", "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found: list[int] = []
    while len(found) < count:
        messages = consumer.consume(count - len(found), 30)
        assert messages, f"{len(found)} of {count} records came"
        found += [int(message.value().rstrip(b"\0")) for message in messages]
    consumer.close()
    return found


def sizes(directories: SharedLogDirectories) -> list[int]:
    return [path.stat().st_size for path in sorted((directories.paths[0] / f"{TOPIC}-0").glob("*.log"))]


@pytest.mark.parametrize("turns", [_TURNS], ids=["ours first"])
def test_both_go_on_where_the_other_ended(turns: list[str], tmp_path: Path, kafka_tools) -> None:
    directories = SharedLogDirectories(tmp_path)
    try:
        for number, (who, how) in enumerate(map(str.split, turns)):
            directories.start(who)
            if number == 0:
                settings = {"preallocate": "true", "segment.bytes": str(SEGMENT_BYTES)}
                admin = AdminClient({"bootstrap.servers": directories.bootstrap})
                admin.create_topics([NewTopic(TOPIC, 1, 1, config=settings)])[TOPIC].result(30)
            produce(directories, 300 * number, 300)
            assert consume(directories, 300 * (number + 1)) == list(range(300 * (number + 1)))
            assert sizes(directories)[-1] == SEGMENT_BYTES, who
            directories.end(how)
            if how == "stop":
                assert sizes(directories)[-1] < SEGMENT_BYTES, who
            else:
                assert sizes(directories)[-1] == SEGMENT_BYTES, who
        assert faults(kafka_tools, directories) == []
    finally:
        directories.end("kill")
