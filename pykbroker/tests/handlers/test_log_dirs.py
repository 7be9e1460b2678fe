"""DescribeLogDirs and AlterReplicaLogDirs, over two directories."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from pykbroker.tests.transactions.world import World
from wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from wire.messages.describe_log_dirs import DescribeLogDirsRequest

NONE, UNKNOWN_TOPIC, NOT_AVAILABLE, STORAGE_ERROR, NOT_FOUND, INVALID = 0, 3, 9, 56, 57, 42


@pytest.fixture
def world() -> World:
    return World(others=[Path("/more")])


def described(world: World) -> dict[str, tuple[int, dict[str, list[int]]]]:
    """Error and partitions of each directory."""
    answer = world.ask(DescribeLogDirsRequest(None), 4)
    return {
        each.log_dir: (
            each.error_code,
            {topic.name: [part.partition_index for part in topic.partitions] for topic in each.topics},
        )
        for each in answer.results
    }


def move(world: World, path: str, *indexes: int) -> list[int]:
    request = AlterReplicaLogDirsRequest([AlterReplicaLogDir(path, [AlterReplicaLogDirTopic("t", list(indexes))])])
    (topic,) = world.ask(request, 2).results
    return [partition.error_code for partition in topic.partitions]


def test_each_directory_with_its_partitions(world: World) -> None:
    world.topic("t", 3)
    assert described(world) == {"/data": (NONE, {"t": [0, 2]}), "/more": (NONE, {"t": [1]})}
    sizes = world.ask(DescribeLogDirsRequest(None), 4).results[0]
    assert (sizes.total_bytes, sizes.usable_bytes) == (2**40, 2**39)


def test_a_directory_that_has_failed(world: World) -> None:
    world.topic("t", 3)
    described(world)
    world.cluster.logs.folders.all[1].home.failed(OSError(errno.EIO, "on purpose"), "a test")
    assert described(world) == {"/data": (NONE, {"t": [0, 2]}), "/more": (STORAGE_ERROR, {})}
    assert move(world, "/more", 0) == [STORAGE_ERROR]


def test_a_directory_that_is_gone_is_offline(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(path: str) -> tuple[int, int]:
        if path == "/more":
            raise FileNotFoundError(errno.ENOENT, "on purpose", path)
        return 2, 1

    monkeypatch.setattr(world.disk, "free_bytes", gone)
    assert described(world) == {"/data": (NONE, {}), "/more": (STORAGE_ERROR, {})}
    assert world.cluster.logs.folders.all[1].home.offline


def test_a_partition_without_files_goes_where_it_is_wanted(world: World) -> None:
    world.topic("t", 2)
    assert move(world, "/more", 0, 1) == [NONE, NONE]
    assert described(world) == {"/data": (NONE, {}), "/more": (NONE, {"t": [0, 1]})}
    assert move(world, "/more", 0) == [NONE]
    _ = world.cluster.partition("t", 0).log  # makes its files
    assert move(world, "/data", 0) == [INVALID]
    world.topic("u", 2)
    assert described(world)["/data"] == (NONE, {"u": [0, 1]})


def test_what_cannot_be_moved() -> None:
    world = World(brokers=2)
    world.topic("t", 2)
    assert move(world, "/elsewhere", 0, 9) == [NOT_FOUND, NOT_FOUND]
    assert move(world, "/data", 9) == [UNKNOWN_TOPIC]
    assert sorted(move(world, "/data", 0, 1)) == [NONE, NOT_AVAILABLE]
