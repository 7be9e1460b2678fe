"""Brokers that cannot be registered, since the metadata log takes nothing: they stay stopped, and nothing of the attempt is left."""

from __future__ import annotations

import errno

import pytest

from pykbroker.tests.brokers.test_replica_manager import OwnCopies
from pykbroker.wire.errors import KafkaError

_METADATA = "__cluster_metadata"


@pytest.mark.parametrize("killed", [True, False])
def test_a_start_that_is_refused_leaves_nothing(killed: bool, caplog: pytest.LogCaptureFixture) -> None:
    world = OwnCopies()
    assert world.produced(b"a") == 0
    world.kill_broker(2) if killed else world.stop_broker(2)
    for _ in range(3):
        world.disk.fail = lambda _, what: (
            OSError(errno.ENOSPC, "full") if _METADATA in what and "write" in what else None
        )
        refused = world.lifecycle.start(2)
        world.turns()
        assert isinstance(refused.error, KafkaError)
        world.disk.fail = None
    world.start_broker(2)
    assert world.isr == [1, 2, 3]
    assert world.produced(b"b") == 0
    world.kill_broker(1)
    world.start_broker(1)
    world.delete_topic("t")
    world.turns()
    assert [each for each in world.disk.list("/data/2") if each.startswith("t-") and not each.endswith("-delete")] == []
    assert not world.cluster.brokers[2].logs.directories.all[0].directory.offline
    assert [
        each.message for each in caplog.records if each.levelname == "ERROR" and _METADATA not in each.message
    ] == []
