"""A correct program under chaos: nothing lost, nothing doubled, in order; and it is told what befell it."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Producer

from pykbroker.testing import Kafka


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
        consumer = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "group.id": "g",
                "auto.offset.reset": "earliest",
                "client.id": "c",
            }
        )
        consumer.subscribe(["t"])
        seen: list[bytes] = []
        while len(seen) < len(numbers):
            message = consumer.poll(60)
            assert message is not None, f"{len(seen)} of {len(numbers)}"
            if message.error() is None:
                seen.append(message.value())
        consumer.close()
        assert seen == numbers
        assert [record.value for record in kafka.records("t")] == numbers
        befell = [line for line in kafka.log_lines if "Chaos: " in line]
        assert len(befell) > 5, befell
