"""What Apache Kafka takes to the first record, started from outside."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer


def measured(folder: Path) -> dict[str, Callable[[], float]]:
    """By name, what starts one over an empty folder and returns the seconds to the first record."""
    return {"Apache Kafka 4.3.1 (formatted and started, flags for a quick start)": lambda: _first(_apache(folder))}


def _first(broker: Callable[[], Iterator[str]]) -> float:
    began = time.monotonic()
    with contextmanager(broker)() as address:
        producer = Producer({"bootstrap.servers": address})
        producer.produce("t", b"v")
        assert producer.flush(60) == 0
        return time.monotonic() - began


def _apache(folder: Path) -> Callable[[], Iterator[str]]:
    from compat_tests.harness.apache import ApacheKafka

    def started() -> Iterator[str]:
        shutil.rmtree(folder / "kafka", ignore_errors=True)
        kafka = ApacheKafka(folder / "kafka")
        kafka.start()
        yield kafka.bootstrap
        kafka.stop()

    return started
