"""flush.messages=1: an answer waits for the disk, and many waiting producers share a sync."""

from __future__ import annotations

import asyncio
import errno
import threading
from pathlib import Path

from pykbroker.storage.real_disk import RealFile
from pykbroker.tests.kit.running import RunningBroker, running_broker, until
from pykbroker.tests.network.test_connection import produce
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from pykbroker.wire.messages.produce import ProduceResponse

PRODUCERS = 20


async def create_synced(broker: RunningBroker) -> None:
    client = await broker.connect()
    topic = CreatableTopic(
        name="t",
        num_partitions=1,
        replication_factor=1,
        configs=[CreatableTopicConfig(name="flush.messages", value="1")],
    )
    answer = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7, CreateTopicsResponse)
    assert answer.topics[0].error_code == 0
    client.close()


def test_what_is_acknowledged_is_synced_and_producers_share_syncs(tmp_path: Path, monkeypatch) -> None:
    syncs: list[str] = []
    monkeypatch.setattr(RealFile, "sync", lambda file: syncs.append(file.path))

    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            await create_synced(broker)
            log = broker.cluster.partition("t", 0).log
            clients = [await broker.connect() for _ in range(PRODUCERS)]

            async def one(client) -> None:
                for _ in range(10):
                    answer = (await client.ask(produce(b"kept"), 9, ProduceResponse)).responses[0]
                    assert answer.partition_responses[0].error_code == 0
                    assert log.recovery_point > answer.partition_responses[0].base_offset

            syncs.clear()
            await asyncio.gather(*map(one, clients))
            of_the_log = [path for path in syncs if path.endswith(".log") and "/t-0/" in path]
            assert 10 <= len(of_the_log) < PRODUCERS * 10
            for client in clients:
                client.close()

    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_a_failed_sync_is_no_acknowledgement(tmp_path: Path, monkeypatch) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            await create_synced(broker)
            client = await broker.connect()
            await client.ask(produce(b"kept"), 9, ProduceResponse)

            def fail(file: RealFile) -> None:
                raise OSError(errno.EIO, "Input/output error")

            with monkeypatch.context() as patched:
                patched.setattr(RealFile, "sync", fail)
                answer = (await client.ask(produce(b"lost"), 9, ProduceResponse)).responses[0].partition_responses[0]
            assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert answer.base_offset == -1
            after = (await client.ask(produce(b"refused"), 9, ProduceResponse)).responses[0].partition_responses[0]
            assert after.error_code == ErrorCode.KAFKA_STORAGE_ERROR
            client.close()
            broker.cluster.logs.metadata_directory.offline = False  # so that the fixture can stop what is left

    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_a_stop_in_the_middle_of_a_sync_is_a_quiet_one(tmp_path: Path, monkeypatch) -> None:
    """Those who wait for the next sync are cut off with their connections; nothing is begun for them any more."""
    syncing, go_on = threading.Event(), threading.Event()
    troubles: list[dict] = []

    def slow(file: RealFile) -> None:
        if file.path.endswith(".log") and "/t-0/" in file.path:
            syncing.set()
            go_on.wait(30)

    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: troubles.append(context))
        async with running_broker(tmp_path) as broker:
            await create_synced(broker)
            clients = [await broker.connect() for _ in range(2)]
            with monkeypatch.context() as patched:
                patched.setattr(RealFile, "sync", slow)
                clients[0].send(produce(b"first"), 9)
                await asyncio.to_thread(syncing.wait, 30)
                clients[1].send(produce(b"second"), 9)
                await until(lambda: broker.cluster.partition("t", 0).log_end_offset == 2)
                asyncio.get_running_loop().call_later(0.05, go_on.set)
                await broker.server.close()
            for client in clients:
                client.close()

    asyncio.run(asyncio.wait_for(scenario(), 30))
    assert not troubles
