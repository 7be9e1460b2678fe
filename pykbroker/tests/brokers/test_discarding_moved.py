"""Copies of partitions that are moved to another broker: their files go without anything else that happens, and those that come back at once stay."""

from __future__ import annotations

import pytest

from pykbroker.controller.reassignments import Reassignment
from pykbroker.controller.topics import NewTopic
from pykbroker.partitions.internal_records import append_internal
from pykbroker.tests.brokers.test_replica_manager import OwnCopies


class Moves(OwnCopies):
    """Topic ``w`` has partitions with a record each, on brokers 1 and 2."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.create(NewTopic("w", assignments=[(index, [1, 2]) for index in range(width)]))
        self.turns()
        for index in range(width):
            partition = self.cluster.partition("w", index)
            assert partition is not None
            append_internal(partition, [(None, b"a")], 1)
        self.pass_time(1000)

    def move(self, replicas: list[int], first: int = 0) -> None:
        """Move all partitions from the ``first`` on."""
        wanted = [Reassignment("w", index, replicas) for index in range(first, self.width)]
        assert not any(self.cluster.controller.alter_reassignments(wanted, same_factor=False).value)

    def folders(self, broker: int) -> set[str]:
        """Those that still have the topic's name."""
        store = self.cluster.brokers[broker].store
        (contents,) = store.logs.directories.all
        return {name for name in self.disk.list(contents.path) if name.startswith("w-") and "." not in name}


@pytest.mark.parametrize("width", [1, 60])
def test_files_of_a_copy_that_is_moved_away_go(width: int) -> None:
    world = Moves(width)
    assert len(world.folders(2)) == width
    world.move([1, 3])
    world.pass_time(1000)
    assert world.folders(2) == set()
    assert len(world.folders(3)) == width


def test_copies_that_come_back_before_their_files_are_gone_begin_anew() -> None:
    world = Moves(250)
    world.move([1])
    world.move([1, 2], first=240)
    world.pass_time(2000)
    assert world.folders(2) == {f"w-{index}" for index in range(240, 250)}
    store = world.cluster.brokers[2].store
    for index in range(240, 250):
        partition = store.partition("w", index)
        assert partition is not None
        assert store.logs.is_open(partition.log)
        assert partition.log.log_end_offset == 1
