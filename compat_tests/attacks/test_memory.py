"""A hundred consumers that catch up on more than the broker's memory: Apache Kafka and a pykbroker in 128 MB serve all of them all.

What pykbroker has at most, and producers, are in ``compat_tests/brokers/test_memory.py``; ``scripts/bench --memory-bound`` has the rates.
"""

from __future__ import annotations

from pathlib import Path

from compat_tests.conftest import LONG
from compat_tests.harness.memory_crowd import BATCHES, CONSUMERS, LIMIT, SmallBroker, cgroup, consumers, fill, peak
from compat_tests.harness.process import BrokerProcess

#: Batches of 1 MB in each of the 12 partitions.
EACH = BATCHES if LONG else 1


def test_both_serve_all(brokers: list[BrokerProcess], tmp_path: Path) -> None:
    kafka = brokers[0]
    with cgroup() as group:
        small = SmallBroker(tmp_path, group)
        small.start()
        try:
            for broker in (kafka, small):
                fill(broker, "crowd", EACH)
                crowd = consumers(broker, "crowd", EACH)
                crowd.run()
                assert crowd.served == [EACH] * CONSUMERS
            assert peak(small) < LIMIT
        finally:
            small.stop()
