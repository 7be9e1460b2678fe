"""DescribeLogDirs, AlterReplicaLogDirs and cordoned.log.dirs, over two directories."""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.setting import ConfigError
from pykbroker.metadata.replay import MetadataRecord
from pykbroker.partitions.internal_records import append_internal
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.transactions import Producer
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from pykbroker.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pykbroker.wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

NONE, UNKNOWN_TOPIC, NOT_AVAILABLE, INVALID_TOPIC, INVALID_ASSIGNMENT, STORAGE_ERROR, NOT_FOUND = (
    0,
    3,
    9,
    17,
    39,
    56,
    57,
)
BOTH = {"log_dirs": "/data,/more"}


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


# ---- cordoned log directories (KIP-1066)


def cordoned(world: MemoryCluster) -> list[str]:
    return [each.log_dir for each in world.ask(DescribeLogDirsRequest(None), 5).results if each.is_cordoned]


def cordon(world: MemoryCluster, names: str | None, broker: str = "1") -> tuple[int, str | None]:
    change = AlterableConfig("cordoned.log.dirs", 1 if names is None else 0, names)
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(4, broker, [change])])
    answer = world.ask(request, 1, broker=int(broker or 1)).responses[0]
    return answer.error_code, answer.error_message


def create(world: MemoryCluster, topic: str, assignments: list[list[int]] | None = None) -> tuple[int, str | None]:
    given = [CreatableReplicaAssignment(index, each) for index, each in enumerate(assignments or [])]
    wanted = CreatableTopic(topic, -1 if given else 2, -1 if given else 1, given)
    answer = world.ask(CreateTopicsRequest([wanted], 1000), 7).topics[0]
    return answer.error_code, answer.error_message


def test_no_new_partition_goes_where_it_is_cordoned() -> None:
    world = MemoryCluster(others=[Path("/more")], **BOTH, cordoned_log_dirs="/data")
    assert cordoned(world) == ["/data"]
    world.topic("t", 4)
    assert described(world)["/more"] == (NONE, {"t": [0, 1, 2, 3]})
    assert move(world, "/data", 0) == [INVALID_ASSIGNMENT]
    assert cordon(world, "/more") == (NONE, None)
    world.topic("u", 3)
    assert described(world)["/data"] == (NONE, {"u": [0, 1, 2]})
    for kill in (False, True):
        world.restart(kill=kill)
        assert cordoned(world) == ["/more"]
    assert cordon(world, None) == (NONE, None)
    assert cordoned(world) == ["/data"]


def test_a_cordon_that_the_metadata_log_refuses_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = MemoryCluster(others=[Path("/more")], **BOTH)
    tell, times = world.controller.log.append, []

    def refused(records: Sequence[MetadataRecord]) -> int:
        times.append(None)
        if len(times) == 2:  # after the setting itself
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
        return tell(records)

    monkeypatch.setattr(world.controller.log, "append", refused)
    assert cordon(world, "/more") == (NONE, None)
    assert not world.image.brokers[1].cordoned_log_dirs
    world.advance(9000)
    assert len(world.image.brokers[1].cordoned_log_dirs or ()) == 1


def test_a_broker_whose_log_directories_are_all_cordoned_gets_no_replicas() -> None:
    world = MemoryCluster(others=[Path("/more")], **BOTH)
    world.topic("t", 1)
    assert cordon(world, "*") == (NONE, None)
    assert cordoned(world) == ["/data", "/more"]
    full = "All brokers are currently fenced, or have all their log directories cordoned."
    named = "The manual partition assignment includes broker 1, but all its log directories are cordoned."
    assert create(world, "u") == (38, f"Unable to replicate the partition 1 time(s): {full}")
    assert create(world, "u", [[1]]) == (INVALID_ASSIGNMENT, named)
    more = CreatePartitionsRequest([CreatePartitionsTopic("t", 2, None)], 1000)
    assert world.ask(more, 3).results[0].error_message == full
    world.restart()
    assert create(world, "u")[0] == 38
    assert cordon(world, "") == (NONE, None)
    assert create(world, "u") == (NONE, None)


def test_brokers_with_own_stores_are_cordoned_each() -> None:
    world = MemoryCluster(brokers=2, own_stores=True, log_dirs="/data")
    assert cordon(world, "/data", "2") == (NONE, None)
    world.topic("t", 4)
    assert {each.leader for each in world.cluster.metadata.image.topics["t"].in_order()} == {1}
    assert cordon(world, "", "2") == (NONE, None)
    world.topic("u", 4)
    assert {each.leader for each in world.cluster.metadata.image.topics["u"].in_order()} == {1, 2}


@pytest.mark.parametrize(
    ("names", "broker", "why"),
    [
        ("/a,/b", "1", "requirement failed: All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : /a, /b"),
        ("*,/data", "1", "requirement failed: When cordoned.log.dirs is set to *, it must not contain other values"),
        ("/data,/data", "1", "Configuration 'cordoned.log.dirs' values must not be duplicated."),
        ("/data", "", "Cannot update these configs at default cluster level, broker id must be specified: [cordoned.log.dirs]"),
    ],
)  # fmt: skip
def test_names_of_no_log_directories(names: str, broker: str, why: str) -> None:
    world = MemoryCluster(others=[Path("/more")], **BOTH)
    assert cordon(world, names, broker) == (42, why)
    assert cordoned(world) == []
    if broker:
        settings = {"log.dirs": "/data,/more", "cordoned.log.dirs": names}
        if "duplicated" in why:
            assert BrokerConfig(settings)["cordoned.log.dirs"] == ("/data",)
        else:
            with pytest.raises(ConfigError, match=re.escape(why.removeprefix("requirement failed: "))):
                BrokerConfig(settings)


def test_below_the_level_of_cordoning_the_controller_is_not_told() -> None:
    world = MemoryCluster(others=[Path("/more")], **BOTH)
    world.cluster.metadata.image.features["metadata.version"] = 29
    assert cordon(world, "*") == (NONE, None)
    assert world.cluster.metadata.image.brokers[1].cordoned_log_dirs is None


# ---- the limit of what moves copy (replica.alter.log.dirs.io.max.bytes.per.second)


def limit(world: MemoryCluster, rate: str | None) -> None:
    name = "replica.alter.log.dirs.io.max.bytes.per.second"
    change = AlterableConfig(name, 1 if rate is None else 0, rate)
    answer = world.ask(IncrementalAlterConfigsRequest([AlterConfigsResource(4, "1", [change])]), 1)
    assert answer.responses[0].error_code == NONE


def test_moves_copy_no_faster_than_they_may() -> None:
    world = MemoryCluster(others=[Path("/more")], replica_fetch_max_bytes="10000")
    world.topic("t", 2, **{"segment.bytes": "1048576"})
    for index in (0, 1):
        for _ in range(50):
            append_internal(world.cluster.partition("t", index), [(None, bytes(100_000))], 1)
    limit(world, "1000000")
    assert move(world, "/more", 0) == [NONE]
    assert move(world, "/data", 1) == [NONE]

    def copied() -> int:
        there = [f"/more/{name}" for name in world.disk.list("/more") if name.startswith("t-0")]
        there += [f"/data/{name}" for name in world.disk.list("/data") if name.startswith("t-1")]
        return sum(world.disk.size(f"{each}/{name}") for each in there for name in world.disk.list(each))

    for second in range(1, 9):
        for _ in range(10):
            world.advance(100)
        # of each log the last megabyte is copied at once, between two appends
        assert (second - 2) * 1_000_000 <= copied() <= second * 1_000_000 + 2**21, second
    for _ in range(10):
        world.advance(1000)
    assert described(world) == {"/data": (NONE, {"t": [1]}), "/more": (NONE, {"t": [0]})}
    assert len(world.read()) == 50


def test_a_move_that_rests_is_called_off_or_goes_on_without_limit(world: MemoryCluster) -> None:
    world.topic("t", 1, **{"segment.bytes": "1048576"})
    for _ in range(50):
        append_internal(world.cluster.partition("t", 0), [(None, bytes(100_000))], 1)
    limit(world, "1")
    assert move(world, "/more", 0) == [NONE]
    assert [name for name in world.disk.list("/more") if name.startswith("t-0")]
    assert move(world, "/data", 0) == [NONE]
    world.advance(1000)
    assert not [name for name in world.disk.list("/more") if name.startswith("t-0")]
    assert move(world, "/more", 0) == [NONE]
    world.advance(1000)
    assert described(world)["/data"] == (NONE, {"t": [0]})
    limit(world, None)
    world.advance(1000)
    assert described(world)["/more"] == (NONE, {"t": [0]})
