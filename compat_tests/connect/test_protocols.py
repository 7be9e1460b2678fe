"""Workers of a Connect group that is being upgraded: it speaks the newest protocol that all its members know. The source
here writes at least once, which is exact as long as workers end in order.

Left out: the protocol of before 2019 (eager). A group that leaves it may say of a task that it runs, and not run it; so seen on
Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests.connect.connectors import Connector
from compat_tests.connect.seen import await_values, describe_group
from compat_tests.connect.worker import Worker
from compat_tests.harness.awaiting import eventually
from compat_tests.harness.process import BrokerProcess

#: From the older to the newer.
PROTOCOLS = ("compatible", "sessioned")


@pytest.fixture
def generations(broker: BrokerProcess, name: Callable[..., str], tmp_path: Path) -> Iterator[tuple[str, list[Worker]]]:
    """A group with one worker of each protocol, the oldest first."""
    group = name("group")
    workers = [
        Worker(tmp_path / protocol, broker.bootstrap, group, {"connect.protocol": protocol}) for protocol in PROTOCOLS
    ]
    for worker in workers:
        worker.launch()
    for worker in workers:
        worker.await_ready()
    yield group, workers
    for worker in workers:
        worker.stop()


def test_a_group_speaks_what_all_its_workers_know(broker, generations, topic, lines, name):
    group, workers = generations
    source = Connector(workers[-1], name("source"))
    for spoken, worker in zip(PROTOCOLS, workers, strict=True):
        left = len(workers) - workers.index(worker)
        expected = ("Stable", "connect", spoken, left)
        eventually(lambda: describe_group(broker, group), lambda seen, expected=expected: seen == expected)
        if left == len(workers):
            source.create("FileStreamSource", file=str(lines.path), topic=topic)
        lines.append(160)
        await_values(broker, topic, lines.written)
        if left > 1:
            worker.stop()
