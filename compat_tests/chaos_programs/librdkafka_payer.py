"""A payer of ``librdkafka_program.py``: ``librdkafka_payer NAME KIND BOOTSTRAP`` charges orders until it is killed.

It writes what it begins to do, and ends when it has read nothing for a while, since librdkafka may have been assigned partitions that it
never begins to read (docs/faults.md).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

#: Who has read nothing for so long begins anew.
IDLE_S: Final = 8.0


def common(bootstrap: str) -> dict[str, Any]:
    """The settings of all clients. ``CHAOS_LIVES_DEBUG`` in the environment is librdkafka's setting ``debug``."""
    debug = os.environ.get("CHAOS_LIVES_DEBUG")
    return {
        "bootstrap.servers": bootstrap,
        "socket.timeout.ms": 3000,
        "retry.backoff.ms": 20,
        "reconnect.backoff.ms": 20,
        "reconnect.backoff.max.ms": 200,
        "topic.metadata.refresh.interval.ms": 1000,
        "topic.metadata.refresh.fast.interval.ms": 50,
        **({"log_level": 0} if debug is None else {"log_level": 7, "debug": debug}),
    }


def says(what: str) -> None:
    """Tell whoever watches what begins."""
    print(what, flush=True)


class Payer:
    """One member of the group, and one producer, which fences the one before."""

    def __init__(self, name: str, kind: str, bootstrap: str) -> None:
        reading: dict[str, Any] = {
            "client.id": name,
            "group.id": "payers",
            "group.protocol": kind,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 100,
            "max.poll.interval.ms": 12_000,
        }
        if kind == "classic":
            reading |= {"session.timeout.ms": 3000, "heartbeat.interval.ms": 300}
        writing = {"client.id": name, "transactional.id": name, "transaction.timeout.ms": 5000, "linger.ms": 0}
        self._consumer = Consumer({**common(bootstrap), **reading})
        self._producer = Producer({**common(bootstrap), **writing})

    def pay(self) -> None:
        """Charge what is read, until nothing is for IDLE_S. Raises KafkaException."""
        says("init_transactions")
        self._producer.init_transactions(20)
        says("subscribe")
        self._consumer.subscribe(["orders"])
        read = time.monotonic()
        while time.monotonic() - read < IDLE_S:
            says("consume")
            found = [each for each in self._consumer.consume(7, 0.1) if each.error() is None]
            if found:
                self._charge(found)
                read = time.monotonic()

    def close(self) -> None:
        """Leave the group."""
        says("close")
        self._consumer.close()

    def _charge(self, found: list[Message]) -> None:
        """Charge what was read; all of it or nothing. Raises KafkaException."""
        says("begin_transaction")
        self._producer.begin_transaction()
        offsets: dict[int, int] = {}
        for order in found:
            for topic in ("charges", "receipts"):
                self._producer.produce(topic, order.value(), order.key())
            partition, offset = order.partition(), order.offset()
            assert partition is not None
            assert offset is not None
            offsets[partition] = offset + 1
        positions = [TopicPartition("orders", partition, offset) for partition, offset in offsets.items()]
        says("consumer_group_metadata")
        member = self._consumer.consumer_group_metadata()
        _repeated(
            "send_offsets_to_transaction", lambda: self._producer.send_offsets_to_transaction(positions, member, 5)
        )
        _repeated("commit_transaction", lambda: self._producer.commit_transaction(10))


def _repeated(name: str, call: Callable[[], None]) -> None:
    """Call again what may be called again, a few times: who waits longer than that begins anew. Raises KafkaException."""
    for tries_left in (2, 1, 0):
        says(name)
        try:
            call()
        except KafkaException as error:
            if not (tries_left and error.args[0].retriable()):
                raise
        else:
            return


def main() -> None:
    """Begin anew after whatever went wrong."""
    name, kind, bootstrap = sys.argv[1:]
    while True:
        payer = Payer(name, kind, bootstrap)
        try:
            payer.pay()
        except KafkaException:
            time.sleep(0.02)
        finally:
            payer.close()


if __name__ == "__main__":
    main()
