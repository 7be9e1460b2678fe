"""A cluster for the handlers that administrate it."""

from __future__ import annotations

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.cluster import MemoryCluster


@pytest.fixture
def broker():
    """Broker 1 of two, with a topic of two partitions that both prefer broker 1."""
    broker = MemoryCluster(2)
    broker.create(NewTopic("t", -1, -1, [(0, [1, 2]), (1, [1, 2])]))
    return broker
