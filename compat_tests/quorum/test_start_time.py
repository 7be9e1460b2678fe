"""How long a broker takes from the start of its process until a broker of the cluster sees it unfenced: one of ours, beside one of Apache Kafka.
What is measured is printed; how fast this machine is proves nothing.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from compat_tests.conftest import takes_long
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.member import create
from compat_tests.quorum.three import JAVA, OURS, Nodes
from pykbroker.tests.kit.running import until_in_thread
from pykbroker.wire.messages.metadata import MetadataRequest

ROUNDS = int(os.environ.get("QUORUM_ROUNDS", "3"))
_SESSION_MS = 2000
_TOPICS = 5


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path, session_ms=_SESSION_MS)
    yield nodes
    nodes.stop()


def is_unfenced(seen_by: Connection, node: int) -> bool:
    return node in {each.node_id for each in seen_by.ask(MetadataRequest([]), 9).brokers}  # type: ignore[attr-defined]


@takes_long
def test_the_time_until_it_is_unfenced(nodes: Nodes) -> None:
    """Alternately. It is started once the session before is over, since until then the controllers know its node.id as another broker's."""
    for _ in range(_TOPICS):
        create(nodes.bootstrap.split(",")[0], [JAVA, OURS])
    took: dict[int, list[float]] = {JAVA: [], OURS: []}
    for _ in range(ROUNDS):
        for node, other in ((JAVA, OURS), (OURS, JAVA)):
            broker = nodes.brokers[node]
            nodes.end(node)
            session_ends = time.monotonic() + 1.5 * _SESSION_MS / 1000
            until_in_thread(lambda session_ends=session_ends: time.monotonic() > session_ends)
            with closing(Connection(nodes.brokers[other].bootstrap, patience_s=60)) as connection:
                assert not is_unfenced(connection, node)
                began = time.monotonic()
                broker.launch()
                until_in_thread(lambda connection=connection, node=node: is_unfenced(connection, node))
                took[node].append(time.monotonic() - began)
            broker.await_ready()
    for node, found in took.items():
        print(
            f"{nodes.brokers[node].name}: {ROUNDS} times, unfenced after {statistics.median(found):.2f} s "
            f"({min(found):.2f} to {max(found):.2f})"
        )
