"""A broker in 128 MB: a hundred consumers that catch up, and fifty producers of large batches, all of whom are served.

The broker runs in a cgroup of that size where the test may make one; else the setting says how much memory there is. Its peak is
read from /proc in both cases. That all are served in turn is held where it does not depend on the machine:
``pykbroker/tests/network/test_claim.py`` for memory, ``test_entering.py`` for the acceptance of a crowd.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.harness.memory_crowd import (
    BATCHES,
    CONSUMERS,
    EACH,
    LIMIT,
    PRODUCERS,
    SmallBroker,
    cgroup,
    consumers,
    create,
    fill,
    peak,
    producers,
)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[SmallBroker]:
    with cgroup() as group:
        broker = SmallBroker(tmp_path, group)
        broker.start()
        try:
            yield broker
        finally:
            broker.stop()


def test_a_hundred_consumers_catch_up_in_128_mb(broker: SmallBroker) -> None:
    fill(broker)
    crowd = consumers(broker)
    crowd.run()
    assert crowd.served == [BATCHES] * CONSUMERS
    assert peak(broker) < LIMIT


def test_fifty_producers_of_large_batches_are_served_in_128_mb(broker: SmallBroker) -> None:
    create(broker)
    crowd = producers(broker)
    crowd.run()
    assert crowd.served == [EACH] * PRODUCERS
    assert peak(broker) < LIMIT
