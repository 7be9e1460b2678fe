"""Copies of brokers with two log directories each, which move between these while they lead and follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.brokers.store import Store
from pykbroker.process.copies import open_store
from pykbroker.process.log_directories import DirectoryPaths
from pykbroker.tests.brokers.test_replica_manager import LAG_MS, OwnCopies


class TwoDirectories(OwnCopies):
    def __init__(self) -> None:
        self.paths = {broker: [Path(f"/{name}/{broker}") for name in ("data", "more")] for broker in (1, 2, 3)}
        super().__init__()

    def start(self) -> None:
        self.others = self.paths[1][1:]
        super().start()

    def open_store(self, broker: int) -> Store:
        first, *others = self.paths[broker]
        paths = DirectoryPaths(first, tuple(others), metadata_apart=False)
        return open_store(self.cluster, paths, broker, self.disk, self.clock)

    def move(self, broker: int) -> None:
        """Move the copy of one broker to the log directory where it is not."""
        partition, logs = self.on(broker), self.cluster.brokers[broker].logs
        target = next(each for each in logs.directories.all if each.directory is not partition.log.directory)
        self.cluster.brokers[broker].store.log_moves.want(partition, target)
        self.turns()
        assert partition.log.directory is target.directory
        assert self.image.topics["t"].partitions[0].directory_of(broker) == logs.id_of(target.directory)


@pytest.mark.parametrize("broker", [1, 2])
def test_a_copy_that_has_moved_leads_or_follows_on(broker: int) -> None:
    world = TwoDirectories()
    assert world.produced(b"a") == 0
    world.move(broker)
    assert world.produced(b"b") == 0
    assert world.copies() == [[(0, b"a"), (1, b"b")]] * 3
    world.pass_time(LAG_MS * 3)
    assert world.isr == [1, 2, 3]
    assert world.read() == [b"a", b"b"]
