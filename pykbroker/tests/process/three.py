"""A node of three brokers, for tests of what becomes of the others when one stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from pykbroker.tests.kit.running import RunningBroker, running_broker, until
from pykbroker.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse


def run(scenario: Awaitable[None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 30))


class Three(RunningBroker):
    """Of the topics, "t" is on all of the three brokers and "alone" on broker 1, each with one partition."""

    async def create(self) -> None:
        topics = [
            CreatableTopic(name, -1, -1, [CreatableReplicaAssignment(0, replicas)])
            for name, replicas in (("t", [1, 2, 3]), ("alone", [1]))
        ]
        answer = await self.ask(CreateTopicsRequest(topics=topics, timeout_ms=1000), 7, CreateTopicsResponse)
        assert [topic.error_code for topic in answer.topics] == [0, 0]

    async def partitions(self, broker: int) -> list[tuple[int, int, list[int]]]:
        """Error, leader and ISR of "t" and of "alone", as the broker tells them."""
        request = MetadataRequest(topics=[MetadataRequestTopic(name="t"), MetadataRequestTopic(name="alone")])
        answer = await self.ask(request, 12, MetadataResponse, broker=broker)
        return [(p.error_code, p.leader_id, sorted(p.isr_nodes)) for topic in answer.topics for p in topic.partitions]

    async def start_again(self, broker: int) -> None:
        """Start a broker that was stopped, and come back when its replica of "t" is in sync."""
        await self.node.brokers.start(broker)
        await self.in_sync()

    async def in_sync(self) -> None:
        """Come back when all replicas of "t" are in sync."""
        await until(lambda: len(self.node.cluster.metadata.image.topics["t"].partitions[0].isr) == 3)

    async def alive(self, broker: int) -> list[int]:
        answer = await self.ask(DescribeClusterRequest(), 1, DescribeClusterResponse, broker=broker)
        return [each.broker_id for each in answer.brokers]


@asynccontextmanager
async def three(directory: Path, racks: Sequence[str] | None = None, **settings: str) -> AsyncIterator[Three]:
    given = {"offsets.topic.num.partitions": "2"} | {name.replace("_", "."): value for name, value in settings.items()}
    async with running_broker(directory, given, brokers=3, racks=racks) as running:
        yield Three(running.node)
