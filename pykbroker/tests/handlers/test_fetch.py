"""Fetch over real sockets: sessions, limits, waiting, errors."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pykbroker.runtime.waits import Deferred
from pykbroker.simulation.colddisk import ColdDisk
from pykbroker.tests.running import Client, RunningBroker, running_broker, until
from pykbroker.wire.batch_header import read_batch_header
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from pykbroker.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

VERSION = 17


def run(test) -> None:
    asyncio.run(asyncio.wait_for(test, 30))


async def create(client: Client, name: str, partitions: int = 1) -> bytes:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    answer = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7, CreateTopicsResponse)
    assert answer.topics[0].error_code == 0
    return answer.topics[0].topic_id


async def produce(client: Client, topic: str, *values: bytes, partition: int = 0) -> None:
    """One batch with these values."""
    batch = encode_batch(
        [
            Record(offset=i, timestamp=1_700_000_000_000, key=None, value=value, headers=[])
            for i, value in enumerate(values)
        ]
    )
    data = PartitionProduceData(index=partition, records=batch)
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])
    answer = await client.ask(request, 9, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == 0


def request(topic_id: bytes | None = None, offsets: dict[int, int] | None = None, **fields) -> FetchRequest:
    partitions = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=fields.get("partition_max", 1 << 20))
        for index, offset in (offsets or {}).items()
    ]
    return FetchRequest(
        max_wait_ms=fields.get("max_wait_ms", 0),
        min_bytes=fields.get("min_bytes", 1),
        max_bytes=fields.get("max_bytes", 1 << 24),
        isolation_level=fields.get("isolation_level", 0),
        session_id=fields.get("session_id", 0),
        session_epoch=fields.get("session_epoch", -1),
        topics=[FetchTopic(topic_id=topic_id, partitions=partitions)] if partitions else [],
        forgotten_topics_data=fields.get("forgotten", []),
    )


def sizes(response: FetchResponse) -> dict[int, int]:
    return {p.partition_index: len(p.records or b"") for topic in response.responses for p in topic.partitions}


def errors(response: FetchResponse) -> dict[int, int]:
    return {p.partition_index: p.error_code for topic in response.responses for p in topic.partitions}


async def opened(broker: RunningBroker) -> Client:
    return await broker.connect()


def test_a_session_answers_with_what_changed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await opened(broker)
            topic = await create(client, "t", 3)
            await produce(client, "t", b"zero", partition=0)
            full = await client.ask(request(topic, {0: 0, 1: 0, 2: 0}, session_epoch=0), VERSION, FetchResponse)
            session = full.session_id
            assert session != 0
            assert set(sizes(full)) == {0, 1, 2}
            step = {"session_id": session}
            none = await client.ask(request(topic, {0: 1}, session_epoch=1, **step), VERSION, FetchResponse)
            assert none.responses == []
            await produce(client, "t", b"two", partition=2)
            changed = await client.ask(request(session_epoch=2, **step), VERSION, FetchResponse)
            assert set(sizes(changed)) == {2}
            again = await client.ask(request(session_epoch=3, **step), VERSION, FetchResponse)
            assert sizes(again) == sizes(changed)  # not acknowledged by a new offset: sent again
            forgotten = [ForgottenTopic(topic_id=topic, partitions=[2])]
            gone = await client.ask(request(session_epoch=4, forgotten=forgotten, **step), VERSION, FetchResponse)
            assert gone.responses == []
            client.close()

    run(scenario())


def test_session_errors(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await opened(broker)
            topic = await create(client, "t")
            unknown = await client.ask(request(session_id=12345, session_epoch=1), VERSION, FetchResponse)
            assert unknown.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            full = await client.ask(request(topic, {0: 0}, session_epoch=0), VERSION, FetchResponse)
            wrong = await client.ask(request(session_id=full.session_id, session_epoch=5), VERSION, FetchResponse)
            assert wrong.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
            closed = await client.ask(
                request(topic, {0: 0}, session_id=full.session_id, session_epoch=-1), VERSION, FetchResponse
            )
            assert closed.session_id == 0
            after = await client.ask(request(session_id=full.session_id, session_epoch=1), VERSION, FetchResponse)
            assert after.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            client.close()

    run(scenario())


def test_one_whole_batch_even_above_every_limit(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await opened(broker)
            topic = await create(client, "t", 2)
            for partition in (0, 1):
                await produce(client, "t", b"x" * 5000, partition=partition)
                await produce(client, "t", b"y" * 5000, partition=partition)
            answer = await client.ask(
                request(topic, {0: 0, 1: 0}, max_bytes=10, partition_max=10), VERSION, FetchResponse
            )
            assert sizes(answer)[0] > 5000
            assert sizes(answer)[1] == 0
            assert read_batch_header(answer.responses[0].partitions[0].records).size == sizes(answer)[0]
            client.close()

    run(scenario())


def test_an_offset_inside_a_batch_returns_that_batch(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await opened(broker)
            topic = await create(client, "t")
            await produce(client, "t", b"a", b"b", b"c")
            answer = await client.ask(request(topic, {0: 2}), VERSION, FetchResponse)
            assert read_batch_header(answer.responses[0].partitions[0].records).base_offset == 0
            client.close()

    run(scenario())


def test_out_of_range_is_answered_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await opened(broker)
            topic = await create(client, "t")
            answer = await client.ask(request(topic, {0: 1}, max_wait_ms=3_600_000), VERSION, FetchResponse)
            assert errors(answer) == {0: ErrorCode.OFFSET_OUT_OF_RANGE}
            client.close()

    run(scenario())


def test_waits_for_min_bytes(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            consumer, producer = await opened(broker), await opened(broker)
            topic = await create(producer, "t")
            consumer.send(request(topic, {0: 0}, min_bytes=600, max_wait_ms=3_600_000), VERSION)
            received = asyncio.ensure_future(consumer.receive(FetchResponse, VERSION))
            for _ in range(2):
                await produce(producer, "t", b"x" * 200)
                assert not received.done()
            await produce(producer, "t", b"x" * 200)
            _, answer = await received
            assert sizes(answer)[0] >= 600
            consumer.close()
            producer.close()

    run(scenario())


def test_answers_what_there_is_when_the_time_is_up(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await opened(broker)
            topic = await create(client, "t")
            await produce(client, "t", b"little")
            answer = await client.ask(request(topic, {0: 0}, min_bytes=1 << 20, max_wait_ms=30), VERSION, FetchResponse)
            assert sizes(answer)[0] > 0
            client.close()

    run(scenario())


def test_a_waiting_fetch_learns_of_deletion_and_of_a_moved_log_start(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            consumer, admin = await opened(broker), await opened(broker)
            topic = await create(admin, "t")
            await produce(admin, "t", b"a")
            waiting = request(topic, {0: 1}, max_wait_ms=3_600_000, session_epoch=0)
            consumer.send(waiting, VERSION)
            received = asyncio.ensure_future(consumer.receive(FetchResponse, VERSION))
            trim = DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=1)])
            await admin.ask(DeleteRecordsRequest(topics=[trim], timeout_ms=1000), 2, DeleteRecordsResponse)
            delete = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000)
            await admin.ask(delete, 6, DeleteTopicsResponse)
            _, answer = await received
            assert errors(answer) == {0: ErrorCode.UNKNOWN_TOPIC_ID}
            again = await create(admin, "t")
            assert again != topic
            answer = await consumer.ask(request(topic, {0: 0}, max_wait_ms=3_600_000), VERSION, FetchResponse)
            assert errors(answer) == {0: ErrorCode.UNKNOWN_TOPIC_ID}
            consumer.close()
            admin.close()

    run(scenario())


def test_a_read_that_fails_after_a_wait_leaves_nobody_waiting(tmp_path: Path) -> None:
    async def scenario() -> None:
        disk = ColdDisk()
        async with running_broker(tmp_path, disk=disk) as broker:
            client = await opened(broker)
            topic = await create(client, "t")
            await produce(client, "t", b"cold by then")
            client.send(request(topic, {0: 0}, min_bytes=1 << 20, max_wait_ms=200), VERSION)
            await until(lambda: bool(broker.cluster.partition("t", 0).watchers))
            disk.chill()
            failing: Deferred = Deferred()
            failing.fail(MemoryError("no room for the records"))
            broker.cluster.runtime.offload_read = lambda *_: failing
            assert await client.closed_by_broker()

    run(scenario())
