"""A correct program under chaos: nothing lost, nothing doubled, in order; and it is told what befell it."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Consumer, Producer

from pykbroker.testing import Kafka

LIMIT_S = 180.0
#: A consumer that reads nothing for so long is begun anew: librdkafka may never read what it is assigned (docs/faults.md).
STANDS_S = 15.0


@pytest.mark.parametrize("seed", [1, 2])
def test_an_idempotent_producer_and_a_group_are_not_disturbed(seed: int) -> None:
    numbers = [b"%d" % number for number in range(300)]
    with Kafka(
        {"default.replication.factor": 3, "offsets.topic.replication.factor": 3},
        brokers=3,
        chaos=f"{seed} intensity=4 quiet_after=6s",
    ) as kafka:
        producer = Producer(
            {"bootstrap.servers": kafka.bootstrap_servers, "enable.idempotence": True, "linger.ms": 1, "client.id": "p"}
        )
        for number in numbers:
            producer.produce("t", number)
            producer.poll(0.005)
        assert producer.flush(60) == 0
        assert read(kafka, len(numbers)) == numbers
        assert [record.value for record in kafka.records("t")] == numbers
        befell = [line for line in kafka.log_lines if "Chaos: " in line]
        assert len(befell) > 5, befell


def read(kafka: Kafka, count: int) -> list[bytes | None]:
    """What a group reads; what it reads again, since a commit was lost with its session, once."""
    seen: dict[bytes | None, None] = {}
    ends = time.monotonic() + LIMIT_S
    while len(seen) < count:
        assert time.monotonic() < ends, f"{len(seen)} of {count}"
        consumer = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "group.id": "g",
                "auto.offset.reset": "earliest",
                "client.id": "c",
                "session.timeout.ms": 6000,  # for so long chaos may keep it silent
            }
        )
        consumer.subscribe(["t"])
        while len(seen) < count and (message := consumer.poll(STANDS_S)) is not None:
            if message.error() is None:
                seen[message.value()] = None
        consumer.close()
    return list(seen)
