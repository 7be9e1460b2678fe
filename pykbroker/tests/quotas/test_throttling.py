"""A running broker whose clients are held to quotas."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pykbroker.process.node import Node
from pykbroker.requests.pipeline import Place
from pykbroker.tests.kit.running import RunningBroker, running_broker
from pykbroker.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    EntityData,
    OpData,
)
from pykbroker.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

#: One window without any before: what is above the quota is throttled from the first request on.
ONE_WINDOW = {"quota.window.num": "1"}


async def limit(broker: RunningBroker, key: str, value: float | None, client: str = "test") -> None:
    entry = AlterClientQuotasRequestEntryData(
        [EntityData("client-id", client)], [OpData(key, value or 0, value is None)]
    )
    await broker.ask(AlterClientQuotasRequest([entry]), 1, AlterClientQuotasResponse)


def produce(size: int, acks: int = 1) -> ProduceRequest:
    """To a topic that is not there: it weighs as much."""
    data = PartitionProduceData(0, bytes(size))
    return ProduceRequest(acks=acks, topic_data=[TopicProduceData("t", partition_data=[data])])


def test_a_throttled_connection_is_not_read_from_and_others_are(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path, ONE_WINDOW) as broker:
            await limit(broker, "producer_byte_rate", 10_000)
            throttled, other = await broker.connect(), await broker.connect()
            loop = asyncio.get_running_loop()
            began = loop.time()
            throttled.send(produce(6000), 9)
            throttled.send(ApiVersionsRequest(), 0)
            _, answer = await throttled.receive(ProduceResponse, 9)
            assert isinstance(answer, ProduceResponse)
            assert 500 < answer.throttle_time_ms < 1000
            later = asyncio.ensure_future(throttled.receive(ApiVersionsResponse, 0))
            await other.ask(ApiVersionsRequest(), 0, ApiVersionsResponse)
            assert not later.done()
            await later
            assert loop.time() - began >= answer.throttle_time_ms / 1000
            throttled.close()
            other.close()

    asyncio.run(scenario())


def test_a_throttled_connection_may_end_meanwhile(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path, ONE_WINDOW) as broker:
            await limit(broker, "producer_byte_rate", 10_000)
            throttled = await broker.connect()
            await throttled.ask(produce(4000), 9, ProduceResponse)
            (connection,) = broker.server.sockets(1).connections
            connection.cut()
            assert await throttled.closed_by_broker()
            await broker.ask(ApiVersionsRequest(), 0, ApiVersionsResponse)

    asyncio.run(scenario())


def test_quotas_hold_after_a_restart_and_cost_nothing_when_they_are_gone(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            assert broker.node.limiting.throttling is None
            await limit(broker, "request_percentage", 50)
            assert broker.server.dispatcher.places.fills(Place.THROTTLE)
        async with running_broker(tmp_path) as broker:
            assert broker.server.dispatcher.places.fills(Place.THROTTLE)
            await limit(broker, "request_percentage", None)
            assert not broker.server.dispatcher.places.fills(Place.THROTTLE)

    asyncio.run(scenario())


def test_a_process_that_begins_anew_forgets_the_quotas(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path / "a") as broker:
            await limit(broker, "request_percentage", 50)
            node: Node = broker.node
            await node.begin_again(lambda: (tmp_path / "a").rename(tmp_path / "b") and None)
            assert not broker.server.dispatcher.places.fills(Place.THROTTLE)

    asyncio.run(scenario())
