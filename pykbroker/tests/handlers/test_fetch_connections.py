"""Fetch over real sockets: what becomes of one that waits when a read fails, its session is closed, or its connection is gone."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pykbroker.runtime.waits import Deferred
from pykbroker.simulation.colddisk import ColdDisk
from pykbroker.tests.handlers.test_fetch import VERSION, produced, request
from pykbroker.tests.kit.running import Client, RunningBroker, running_broker, until
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from pykbroker.wire.messages.fetch import FetchResponse
from pykbroker.wire.messages.produce import ProduceResponse


def run(test) -> None:
    asyncio.run(asyncio.wait_for(test, 30))


async def create(client: Client, name: str) -> bytes:
    asked = CreateTopicsRequest([CreatableTopic(name, num_partitions=1, replication_factor=1)], timeout_ms=1000)
    answer = await client.ask(asked, 7, CreateTopicsResponse)
    assert answer.topics[0].error_code == 0
    return answer.topics[0].topic_id


async def opened(broker: RunningBroker) -> Client:
    return await broker.connect()


def test_a_read_that_fails_after_a_wait_leaves_nobody_waiting(tmp_path: Path) -> None:
    async def scenario() -> None:
        disk = ColdDisk()
        async with running_broker(tmp_path, disk=disk) as broker:
            client = await opened(broker)
            topic = await create(client, "t")
            await client.ask(produced("t", b"cold by then"), 9, ProduceResponse)
            client.send(request(topic, {0: 0}, min_bytes=1 << 20, max_wait_ms=200), VERSION)
            await until(lambda: bool(broker.cluster.partition("t", 0).watchers))
            disk.chill()
            failing: Deferred = Deferred()
            failing.fail(MemoryError("no room for the records"))
            broker.cluster.runtime.offload_read = lambda *_: failing
            assert await client.closed_by_broker()

    run(scenario())


async def waiting_in_a_session(broker: RunningBroker, client: Client, topic: bytes, max_wait_ms: int) -> int:
    """A fetch of the end of partition 0, in a session of its own, that waits; the session's id."""
    full = await client.ask(request(topic, {0: 0}, session_epoch=0), VERSION, FetchResponse)
    step = request(topic, {0: 0}, session_id=full.session_id, session_epoch=1, max_wait_ms=max_wait_ms)
    client.send(step, VERSION)
    session = broker.cluster.brokers[1].fetch_sessions._sessions[full.session_id]
    await until(lambda: session.waiter is not None)
    return full.session_id


def test_a_fetch_that_waits_when_its_session_is_closed_is_answered_and_watches_no_more(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await opened(broker)
            topic = await create(client, "t")
            partition = broker.cluster.partition("t", 0)
            session = await waiting_in_a_session(broker, client, topic, 3_600_000)
            # As the Java client's close() does it: on the same connection, behind the fetch.
            client.send(request(session_id=session, session_epoch=-1), VERSION)
            _, answer = await client.receive(FetchResponse, VERSION)
            assert answer.session_id == session
            assert answer.responses == []
            _, closed = await client.receive(FetchResponse, VERSION)
            assert closed.session_id == 0
            assert not partition.watchers
            client.close()

    run(scenario())


def test_a_fetch_whose_connection_is_gone_waits_no_more(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            alone, member, other = [await opened(broker) for _ in range(3)]
            topic = await create(alone, "t")
            partition = broker.cluster.partition("t", 0)
            session = await waiting_in_a_session(broker, member, topic, 3_600_000)
            alone.send(request(topic, {0: 0}, max_wait_ms=3_600_000), VERSION)
            await until(lambda: len(partition.watchers) == 2)
            found = broker.cluster.brokers[1].fetch_sessions._sessions[session]
            alone.writer.transport.abort()
            member.close()
            await until(lambda: list(partition.watchers) == [found] and found.waiter is None)
            late = broker.cluster.runtime.clock.monotonic() + 3000
            assert all(timer.cancelled or timer.deadline < late for _, _, timer in broker.cluster.runtime.timers._heap)
            other.close()

    run(scenario())
