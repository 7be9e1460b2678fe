"""DescribeLogDirs and AlterReplicaLogDirs, over two directories."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from pykbroker.partitions.internal_records import append_internal
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.transactions import Producer
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from pykbroker.wire.messages.describe_log_dirs import DescribeLogDirsRequest

NONE, UNKNOWN_TOPIC, NOT_AVAILABLE, INVALID_TOPIC, STORAGE_ERROR, NOT_FOUND = 0, 3, 9, 17, 56, 57


@pytest.fixture
def world() -> MemoryCluster:
    return MemoryCluster(others=[Path("/more")])


def described(world: MemoryCluster) -> dict[str, tuple[int, dict[str, list[int]]]]:
    """Error and partitions of each directory."""
    answer = world.ask(DescribeLogDirsRequest(None), 4)
    return {
        each.log_dir: (
            each.error_code,
            {topic.name: [part.partition_index for part in topic.partitions] for topic in each.topics},
        )
        for each in answer.results
    }


def move(world: MemoryCluster, path: str, *indexes: int) -> list[int]:
    request = AlterReplicaLogDirsRequest([AlterReplicaLogDir(path, [AlterReplicaLogDirTopic("t", list(indexes))])])
    (topic,) = world.ask(request, 2).results
    return [partition.error_code for partition in topic.partitions]


def test_each_directory_with_its_partitions(world: MemoryCluster) -> None:
    world.topic("t", 3)
    assert described(world) == {"/data": (NONE, {"t": [0, 2]}), "/more": (NONE, {"t": [1]})}
    sizes = world.ask(DescribeLogDirsRequest(None), 4).results[0]
    assert (sizes.total_bytes, sizes.usable_bytes) == (2**40, 2**39)


def test_a_directory_that_has_failed(world: MemoryCluster) -> None:
    world.topic("t", 3)
    described(world)
    world.cluster.logs.directories.all[1].directory.failed(OSError(errno.EIO, "on purpose"), "a test")
    assert described(world) == {"/data": (NONE, {"t": [0, 2]}), "/more": (STORAGE_ERROR, {})}
    assert move(world, "/more", 0) == [STORAGE_ERROR]


def test_a_directory_that_is_gone_is_offline(world: MemoryCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(path: str) -> tuple[int, int]:
        if path == "/more":
            raise FileNotFoundError(errno.ENOENT, "on purpose", path)
        return 2, 1

    monkeypatch.setattr(world.disk, "free_bytes", gone)
    assert described(world) == {"/data": (NONE, {}), "/more": (STORAGE_ERROR, {})}
    assert world.cluster.logs.directories.all[1].directory.offline


def test_a_partition_without_files_goes_where_it_is_wanted(world: MemoryCluster) -> None:
    world.topic("t", 2)
    assert move(world, "/more", 0, 1) == [NONE, NONE]
    assert described(world) == {"/data": (NONE, {}), "/more": (NONE, {"t": [0, 1]})}
    assert move(world, "/more", 0) == [NONE]
    world.topic("u", 2)
    assert described(world)["/data"] == (NONE, {"u": [0, 1]})


def test_what_cannot_be_moved() -> None:
    world = MemoryCluster(brokers=2)
    world.topic("t", 2)
    assert move(world, "/elsewhere", 0, 9) == [NOT_FOUND, NOT_FOUND]
    assert move(world, "/data", 9) == [UNKNOWN_TOPIC]
    assert sorted(move(world, "/data", 0, 1)) == [NONE, NOT_AVAILABLE]


def test_a_partition_moves_while_it_is_served(world: MemoryCluster) -> None:
    world.topic("t", 1)
    producer = Producer(world, "tx").started()
    for value in (b"a", b"b"):
        assert producer.send(value) is ErrorCode.NONE
    producer.commit()
    assert move(world, "/more", 0) == [NONE]
    assert described(world)["/more"][1]["t"] == [0]
    assert world.read() == [b"a", b"b"]
    assert producer.send(b"c") is ErrorCode.NONE
    assert move(world, "/data", 0) == [NONE]
    producer.commit()
    for kill in (False, True):
        world.restart(kill=kill)
        assert world.read() == [b"a", b"b", b"c"]
        assert described(world)["/data"][1]["t"] == [0]


def test_a_move_is_called_off(world: MemoryCluster) -> None:
    """While the files are copied, the partition is wanted where it is; or its topic is deleted."""
    world.topic("t", 1)
    append_internal(world.cluster.partition("t", 0), [(None, b"a")], 1)
    topic_id = world.cluster.metadata.image.topics["t"].id
    copying = world.hold_threads(unless=lambda _, *args: bool(args))  # the metadata log's syncs have arguments
    for call_off in (lambda: move(world, "/data", 0), lambda: world.cluster.controller.delete_topics([topic_id])):
        assert move(world, "/more", 0) == [NONE]
        assert len(copying) == 1
        call_off()
        copying.run_all()
        assert not [name for name in world.disk.list("/more") if name.startswith("t-0")]
        assert not world.cluster.logs.directories.all[1].directory.offline


def test_a_move_that_fails_leaves_the_partition_where_it_is(world: MemoryCluster) -> None:
    world.topic("t", 1)
    append_internal(world.cluster.partition("t", 0), [(None, b"a")], 1)
    world.disk.fail = lambda _, name: OSError(errno.ENOSPC, "full") if "-future" in name and "write" in name else None
    assert move(world, "/more", 0) == [NONE]
    world.disk.fail = None
    assert described(world) == {"/data": (NONE, {"t": [0]}), "/more": (NONE, {})}
    assert world.read() == [b"a"]
    assert move(world, "/more", 0) == [NONE]
    assert described(world)["/more"] == (NONE, {"t": [0]})


@pytest.mark.parametrize(("length", "index", "answered"), [(213, 0, NONE), (214, 0, INVALID_TOPIC), (213, 1, NONE)])
def test_the_name_of_a_copy_has_255_characters_at_most(
    world: MemoryCluster, length: int, index: int, answered: int
) -> None:
    topic = "x" * length
    world.topic(topic, 2)
    moved = AlterReplicaLogDir("/more", [AlterReplicaLogDirTopic(topic, [index])])
    (result,) = world.ask(AlterReplicaLogDirsRequest([moved]), 2).results
    assert [partition.error_code for partition in result.partitions] == [answered]
