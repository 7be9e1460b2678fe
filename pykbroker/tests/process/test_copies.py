"""Three brokers of one process on sockets and the real disk, each with its copies in a folder of its own."""

from __future__ import annotations

import asyncio
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
from pykbroker.wire.records import Record, encode_batch


async def started(directory: Path) -> Node:
    texts = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(directory), "min.insync.replicas": "2"}
    node = Node(BrokerConfig(texts), 3, durable=False)
    node.copies = True
    await node.start()
    return node


def in_sync(node: Node) -> int:
    return len(node.cluster.metadata.image.topics["t"].partitions[0].isr)


async def produce(node: Node, value: bytes) -> int:
    """The error code of a produce with acks=all, on the leader."""
    leader = node.cluster.metadata.image.topics["t"].partitions[0].leader
    data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, encode_batch([Record(value=value)]))])]
    request = ProduceRequest(acks=-1, timeout_ms=5000, topic_data=data)
    answer = await RunningBroker(node).ask(request, 9, ProduceResponse, broker=leader)
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def segment(directory: Path, broker: int) -> bytes:
    return (directory / str(broker) / "t-0" / f"{0:020d}.log").read_bytes()


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


def test_a_directory_that_brokers_shared_is_taken_over(tmp_path: Path) -> None:
    async def live() -> None:
        texts = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path)}
        shared = Node(BrokerConfig(texts), 3, durable=False)
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


def test_a_directory_in_use_and_several_directories_are_refused(tmp_path: Path) -> None:
    async def live() -> None:
        node = await started(tmp_path)
        with pytest.raises(StartFailed, match="in use by another broker"):
            await started(tmp_path)
        await node.stop()
        texts = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}"}
        node = Node(BrokerConfig(texts), 3, durable=False)
        node.copies = True
        with pytest.raises(StartFailed, match="take one log directory"):
            await node.start()

    asyncio.run(live())
