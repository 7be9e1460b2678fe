"""Cordoned log directories (KIP-1066): what one broker is told holds at the other, which takes up its log directories."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from compat_tests.directories.client import BROKER, Client
from compat_tests.directories.log_directories import SharedLogDirectories
from pykbroker.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from pykbroker.wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.describe_log_dirs import DescribeLogDirsRequest

_SETTING = "cordoned.log.dirs"
_ALL_CORDONED = "All brokers are currently fenced, or have all their log directories cordoned."


@pytest.fixture
def directories(tmp_path: Path) -> Iterator[SharedLogDirectories]:
    shared = SharedLogDirectories(tmp_path, count=2)
    try:
        yield shared
    finally:
        shared.end("kill")


def _cordoned(client: Client, *wanted: bool) -> None:
    """Waits: Apache Kafka's broker tells its controller with a heartbeat, which may come before the setting."""

    def is_so(found) -> bool:
        return tuple(each.is_cordoned for each in sorted(found.results, key=lambda each: each.log_dir)) == wanted

    client.until(is_so, DescribeLogDirsRequest(None), 5)


def _try_to_create(client: Client, assignment: list[int] | None = None):
    given = [] if assignment is None else [CreatableReplicaAssignment(0, assignment)]
    topic = CreatableTopic("refused", -1 if given else 1, -1 if given else 1, given)
    return client.until(lambda found: found.topics[0].error_code, CreateTopicsRequest([topic], 10_000, True), 7).topics[
        0
    ]


def _moved(client: Client, path: Path, topic: str, index: int) -> int:
    asked = AlterReplicaLogDirsRequest([AlterReplicaLogDir(str(path), [AlterReplicaLogDirTopic(topic, [index])])])
    return client.ask(asked, 2).results[0].partitions[0].error_code


def _where(path: Path, topic: str) -> int:
    return len(list(path.glob(f"{topic}-*")))


@pytest.mark.parametrize("first", ["kafka", "ours"])
def test_what_is_cordoned_stays_so_at_the_other(first: str, directories: SharedLogDirectories) -> None:
    second = "ours" if first == "kafka" else "kafka"
    one, two = directories.paths
    directories.start(first)
    with closing(Client(directories.bootstrap)) as client:
        client.served()
        client.alter(BROKER, "1", {_SETTING: str(one)})
        _cordoned(client, True, False)
        client.create("first", 4)
        assert (_where(one, "first"), _where(two, "first")) == (0, 4)
        assert _moved(client, one, "first", 0) == _moved(client, one, "unknown", 0) == 39
    directories.end("kill")

    directories.start(second)
    with closing(Client(directories.bootstrap)) as client:
        client.served()
        _cordoned(client, True, False)
        client.create("second", 4)
        assert (_where(one, "second"), _where(two, "second")) == (0, 4)
        client.alter(BROKER, "1", {_SETTING: "*"})
        _cordoned(client, True, True)
        refused = _try_to_create(client)
        assert (refused.error_code, refused.error_message) == (
            38, f"Unable to replicate the partition 1 time(s): {_ALL_CORDONED}",
        )  # fmt: skip
    directories.end("stop")

    directories.start(first)
    with closing(Client(directories.bootstrap)) as client:
        client.served()
        refused = _try_to_create(client, [1])
        assert (refused.error_code, refused.error_message) == (
            39, "The manual partition assignment includes broker 1, but all its log directories are cordoned.",
        )  # fmt: skip
        client.alter(BROKER, "1", {_SETTING: None})
        _cordoned(client, False, False)
        client.until(
            lambda found: found.topics[0].error_code == 0,
            CreateTopicsRequest([CreatableTopic("third", 2, 1)], 10_000, True), 7,
        )  # fmt: skip
