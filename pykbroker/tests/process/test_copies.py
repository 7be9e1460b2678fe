"""Three brokers of one process on sockets and the real disk, each with its copies in a folder of its own."""

from __future__ import annotations

import asyncio
import errno
import subprocess
import sys
from pathlib import Path

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.controller.topics import NewTopic
from pykbroker.process.log_directories import StartFailed
from pykbroker.process.node import Node
from pykbroker.tests.kit.running import RunningBroker, ended, until
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from pykbroker.wire.primitives import uuid_from_str
from pykbroker.wire.records import Record, encode_batch


async def started(*directories: Path) -> Node:
    log_dirs = ",".join(map(str, directories))
    texts = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": log_dirs,
        "min.insync.replicas": "2",
        "broker.heartbeat.interval.ms": "600000",  # a disk that fails is told at once
    }
    node = Node(BrokerConfig(texts), 3, durable=False)
    await node.start()
    return node


def in_sync(node: Node) -> int:
    return len(node.cluster.metadata.image.topics["t"].partitions[0].isr)


async def produce(node: Node, value: bytes, acks: int = -1) -> int:
    """The error code of a produce on the leader."""
    leader = node.cluster.metadata.image.topics["t"].partitions[0].leader
    data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, encode_batch([Record(value=value)]))])]
    request = ProduceRequest(acks=acks, timeout_ms=5000, topic_data=data)
    answer = await RunningBroker(node).ask(request, 9, ProduceResponse, broker=leader)
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def segment(directory: Path, broker: int) -> bytes:
    return (directory / str(broker) / "t-0" / f"{0:020d}.log").read_bytes()


def everything(directory: Path) -> list[Path]:
    return sorted(directory.rglob("*"))


def test_every_broker_stops_and_crashes_and_all_copies_are_alike(tmp_path: Path) -> None:
    async def live() -> None:
        node = await started(tmp_path)
        await ended(node.cluster.controller.create_topics([NewTopic("t", 1, 3)]))
        values = 0
        for abrupt in (False, True):
            for broker in (1, 2, 3):
                await node.brokers.stop(broker, abrupt=abrupt)
                assert await produce(node, b"%d" % values) == ErrorCode.NONE
                values += 1
                await node.brokers.start(broker)
                await asyncio.wait_for(until(lambda: in_sync(node) == 3), 20)
        await node.stop()
        assert segment(tmp_path, 1).count(b"\x00\x00\x00\x00\x02") >= 1
        assert segment(tmp_path, 1) == segment(tmp_path, 2) == segment(tmp_path, 3)

        node = await started(tmp_path)
        await asyncio.wait_for(until(lambda: in_sync(node) == 3), 20)
        partition = node.cluster.partition("t", 0)
        assert partition is not None
        assert partition.log.high_watermark == values
        await node.stop()

    asyncio.run(live())


def test_a_broker_all_of_whose_disks_have_failed_ends_and_starts_again(tmp_path: Path) -> None:
    async def live() -> None:
        node = await started(tmp_path)
        await ended(node.cluster.controller.create_topics([NewTopic("t", assignments=[(0, [2, 1, 3])])]))
        assert await produce(node, b"before") == ErrorCode.NONE
        directories = node.cluster.brokers[2].logs.directories
        directories.all[0].directory.failed(OSError(errno.EIO, "on purpose"), "a test")
        await asyncio.wait_for(until(lambda: in_sync(node) == 2), 20)
        assert await produce(node, b"after") == ErrorCode.NONE
        assert segment(tmp_path, 1) == segment(tmp_path, 3)
        assert not node.cluster.metadata.image.brokers[2].active
        assert [each["state"] for each in node.brokers.describe(dict.fromkeys((1, 2, 3), ""))] == [
            "running",
            "stopped",
            "running",
        ]
        await node.brokers.start(2)
        await asyncio.wait_for(until(lambda: in_sync(node) == 3), 20)
        await node.stop()
        assert segment(tmp_path, 1) == segment(tmp_path, 2) == segment(tmp_path, 3)

    asyncio.run(live())


def test_replicas_of_others_lead_what_lies_on_one_of_two_disks_that_failed(tmp_path: Path) -> None:
    async def live() -> None:
        node = await started(tmp_path / "a", tmp_path / "b")
        names = [f"t{number}" for number in range(4)] + ["t"]
        await ended(
            node.cluster.controller.create_topics([NewTopic(each, assignments=[(0, [2, 1, 3])]) for each in names])
        )
        image, logs = node.cluster.metadata.image, node.cluster.brokers[2].logs

        def lies_in(name: str) -> bytes | None:
            return image.topics[name].partitions[0].directory_of(2)

        def is_noted(name: str) -> bool:
            partition = node.cluster.brokers[2].store.partition(name, 0)
            return partition is not None and lies_in(name) == logs.id_of(partition.log.directory)

        await asyncio.wait_for(until(lambda: all(map(is_noted, names))), 20)
        failing = next(each for each in logs.directories.all if uuid_from_str(each.directory_id) == lies_in("t"))
        here = [name for name in names if lies_in(name) == lies_in("t")]
        elsewhere = [name for name in names if name not in here]
        assert elsewhere
        assert await produce(node, b"before") == ErrorCode.NONE
        await asyncio.to_thread(failing.directory.failed, OSError(errno.EIO, "on purpose"), "a test")

        def leaders(some: list[str]) -> set[int]:
            return {image.topics[name].partitions[0].leader for name in some}

        await asyncio.wait_for(until(lambda: leaders(here) == {1}), 20)
        assert leaders(elsewhere) == {2}
        assert image.offline_replicas(image.topics["t"].partitions[0], "PLAINTEXT") == [2]
        assert await produce(node, b"after") == ErrorCode.NONE
        await node.stop()
        node = await started(tmp_path / "a", tmp_path / "b")
        await asyncio.wait_for(until(lambda: in_sync(node) == 3), 20)
        await node.stop()

    asyncio.run(live())


def test_one_broker_imports_nothing_of_copies(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\n"
        "from pykbroker.config.broker import BrokerConfig\n"
        "from pykbroker.process.node import Node\n"
        "async def live():\n"
        "    node = Node(BrokerConfig({'listeners': 'PLAINTEXT://127.0.0.1:0', 'log.dirs': sys.argv[1]}), 1, durable=False)\n"
        "    await node.start()\n"
        "    await node.stop()\n"
        "asyncio.run(live())\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    words = ("replication", "leadership", "replica_", "memory_peers", "division", "process.copies", "commit_waits")
    assert [
        name for name in done.stdout.split() if name.startswith("pykbroker") and any(each in name for each in words)
    ] == []


def test_a_directory_that_brokers_shared_is_taken_over(tmp_path: Path) -> None:
    async def live() -> None:
        texts = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path)}
        shared = Node(BrokerConfig(texts), 3, durable=False)
        shared._copies = False  # as an earlier release kept them
        await shared.start()
        await ended(shared.cluster.controller.create_topics([NewTopic("t", 1, 3)]))
        assert await produce(shared, b"before") == ErrorCode.NONE
        await shared.stop()

        node = await started(tmp_path)
        await asyncio.wait_for(until(lambda: in_sync(node) == 3), 20)
        assert await produce(node, b"after") == ErrorCode.NONE
        await node.stop()
        assert segment(tmp_path, 1).count(b"before") == 1
        assert segment(tmp_path, 1) == segment(tmp_path, 2) == segment(tmp_path, 3)

    asyncio.run(live())


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    async def live() -> None:
        node = await started(tmp_path)
        with pytest.raises(StartFailed, match="in use by another broker"):
            await started(tmp_path)
        await node.stop()

    asyncio.run(live())


@pytest.mark.parametrize(
    ("brokers", "settings"), [(1, {}), (2, {}), (1, {"node.id": "9"}), (3, {"node.id": "4"}), (4, {"node.id": "4"})]
)
def test_brokers_that_are_there_are_not_left_out(tmp_path: Path, brokers: int, settings: dict[str, str]) -> None:
    """Their partitions would be offline, or a cluster would begin anew beside theirs."""

    async def live() -> None:
        texts = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path)}
        node = Node(BrokerConfig({**texts, "node.id": "5"}), 3, durable=False)
        await node.start()
        await node.stop()
        before = everything(tmp_path)
        with pytest.raises(StartFailed, match=r"start them all, with --brokers 3 and node\.id=5"):
            await Node(BrokerConfig({**texts, **settings}), brokers, durable=False).start()
        assert everything(tmp_path) == before

    asyncio.run(live())


def test_a_cluster_beside_the_folders_of_another_is_refused(tmp_path: Path) -> None:
    """Dividing it would put its empty checkpoints and its cluster id in place of theirs."""

    async def live() -> None:
        node = await started(tmp_path)
        await node.stop()
        properties = tmp_path / "meta.properties"
        await asyncio.to_thread(properties.write_text, "version=1\nnode.id=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\n")
        before = everything(tmp_path)
        with pytest.raises(
            StartFailed, match=r"has a meta\.properties of its own beside the folders of the brokers 1, 2, 3"
        ):
            await started(tmp_path)
        assert everything(tmp_path) == before

    asyncio.run(live())


def test_the_node_ids_are_those_of_the_folders(tmp_path: Path) -> None:
    async def live() -> None:
        texts = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path)}
        for settings, brokers in (({"node.id": "5"}, 3), ({}, 3), ({}, 4)):
            node = Node(BrokerConfig({**texts, **settings}), brokers, durable=False)
            await node.start()
            assert [*node.addresses()] == [*range(5, 5 + brokers)]
            await node.stop()

    asyncio.run(live())


def test_of_several_directories_each_broker_has_a_folder_in_each(tmp_path: Path) -> None:
    async def live() -> None:
        paths = [tmp_path / "a", tmp_path / "b"]
        texts = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": ",".join(map(str, paths))}
        for ends in (1, 2):
            node = Node(BrokerConfig(texts), 3, durable=False)
            await node.start()
            if ends == 1:
                await ended(node.cluster.controller.create_topics([NewTopic("t", 4, 3)]))
            await asyncio.wait_for(until(lambda node=node: in_sync(node) == 3), 20)  # type: ignore[misc]
            assert await produce(node, b"value") == ErrorCode.NONE
            assert node.cluster.partition("t", 0).log_end_offset == ends  # type: ignore[union-attr]
            await node.stop()
        for broker in "123":
            assert sum(len(list((path / broker).glob("t-*"))) for path in paths) == 4
            assert all((path / broker / "meta.properties").exists() for path in paths)

    asyncio.run(live())


def test_a_first_start_that_was_cut_off_is_begun_again(tmp_path: Path) -> None:
    for made in ("1", "2"):
        (tmp_path / made).mkdir()
    (tmp_path / "1" / ".lock").touch()
    asyncio.run(_start_and_stop(tmp_path))


def test_a_folder_with_a_number_for_a_name_is_not_taken_for_a_broker_s(tmp_path: Path) -> None:
    (tmp_path / "2024").mkdir()
    (tmp_path / "2024" / "letters.txt").touch()
    with pytest.raises(StartFailed, match="is not a log directory"):
        asyncio.run(_start_and_stop(tmp_path))


async def _start_and_stop(directory: Path) -> None:
    node = await started(directory)
    await node.stop()


def test_the_first_folder_is_a_log_directory_of_its_own(tmp_path: Path) -> None:
    """So there is a way back to one broker, for partitions that are on the first."""

    async def live() -> None:
        node = await started(tmp_path)
        await ended(node.cluster.controller.create_topics([NewTopic("t", assignments=[(0, [1])])]))
        assert await produce(node, b"value", acks=1) == ErrorCode.NONE
        await node.stop()
        texts = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path / "1")}
        node = Node(BrokerConfig(texts), 1, durable=False)
        await node.start()
        assert node.cluster.partition("t", 0).log_end_offset == 1  # type: ignore[union-attr]
        assert await produce(node, b"another") == ErrorCode.NONE
        await node.stop()

    asyncio.run(live())
