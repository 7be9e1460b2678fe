"""Fetch over real sockets: sessions, limits, waiting, errors."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.runtime.runtime import run_inline
from pykbroker.runtime.waits import Deferred
from pykbroker.simulation.colddisk import ColdDisk
from pykbroker.tests.kit.running import Client, RunningBroker, running_broker, until
from pykbroker.wire.batch_header import read_batch_header
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
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


async def create(client: Client, name: str, partitions: int = 1, **configs: str) -> bytes:
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )
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


@pytest.mark.parametrize("session_epoch", [-1, 0], ids=["no session", "a new session"])
def test_answers_come_in_the_order_of_the_request_and_what_is_refused_last(tmp_path: Path, session_epoch: int) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await opened(broker)
            a, b = await create(client, "a", 3), await create(client, "b", 2)
            nobody = bytes(range(16))
            asked = request(session_epoch=session_epoch)
            for topic, index, offset in (
                (nobody, 0, 0),
                (a, 1, 0),
                (a, 9, 0),
                (b, 1, 0),
                (a, 0, 5),
                (a, 2, 0),
                (b, 0, 0),
                (a, 1, 7),
            ):
                part = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
                asked.topics.append(FetchTopic(topic_id=topic, partitions=[part]))
            answer = await client.ask(asked, VERSION, FetchResponse)
            seen = [
                (each.topic_id, [(p.partition_index, p.error_code) for p in each.partitions])
                for each in answer.responses
            ]
            out_of_range = ErrorCode.OFFSET_OUT_OF_RANGE
            assert seen == [
                (a, [(1, out_of_range)]),  # named twice: in its first place, as named last
                (b, [(1, 0)]),
                (a, [(0, out_of_range), (2, 0)]),
                (b, [(0, 0)]),
                (nobody, [(0, ErrorCode.UNKNOWN_TOPIC_ID)]),
                (a, [(9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]),
            ]
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
            assert errors(answer) == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
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


def test_a_fetch_whose_time_is_up_after_its_session_was_closed_watches_no_more(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client, other = await opened(broker), await opened(broker)
            topic = await create(client, "t")
            partition = broker.cluster.partition("t", 0)
            session = await waiting_in_a_session(broker, client, topic, 300)
            await other.ask(request(session_id=session, session_epoch=-1), VERSION, FetchResponse)
            _, answer = await client.receive(FetchResponse, VERSION)
            assert answer.error_code == 0
            assert not partition.watchers
            client.close()
            other.close()

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


def test_a_fetch_by_name_follows_a_topic_that_is_made_again_while_it_waits(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            consumer, admin = await opened(broker), await opened(broker)
            await create(admin, "t")
            asked = request(b"", {0: 0}, max_wait_ms=3_600_000)
            asked.topics[0].topic = "t"
            consumer.send(asked, 12)
            await until(lambda: bool(broker.cluster.partition("t", 0).watchers))
            cluster = broker.cluster
            cluster.runtime.offload = run_inline  # both in this turn, before the fetch looks again
            cluster.controller.delete_topics([cluster.metadata.image.topic("t").id])
            cluster.controller.create_topics([NewTopic("t", 1, 1)])
            await until(lambda: bool(broker.cluster.partition("t", 0).watchers))
            await produce(admin, "t", b"a")
            _, answer = await consumer.receive(FetchResponse, 12)
            assert sizes(answer)[0] > 0
            consumer.close()
            admin.close()

    run(scenario())


#: Limits of a fetch of one or two partitions with 40 batches of some 3 KB each, which is answered at once.
CUT_READS = {
    "min bytes as large as a partition's limit": {"min_bytes": 10_000, "partition_max": 10_000, "partitions": 1},
    "min bytes above max bytes": {"min_bytes": 1 << 20, "max_bytes": 10_000},
    "min bytes as large as all partitions' limits": {"min_bytes": 20_000, "partition_max": 10_000},
    "a first batch above every limit": {"min_bytes": 1 << 20, "max_bytes": 10, "partition_max": 10},
    "no room for a batch of the second partition": {"min_bytes": 5000, "max_bytes": 5000, "partition_max": 4000},
}


@pytest.mark.parametrize("name", CUT_READS)
def test_a_read_that_its_limit_cuts_counts_as_the_limit(tmp_path: Path, name: str) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await opened(broker)
            topic = await create(client, "t", 2)
            for _ in range(40):
                for partition in (0, 1):
                    await produce(client, "t", b"x" * 3000, partition=partition)
            offsets = dict.fromkeys(range(CUT_READS[name].get("partitions", 2)), 0)
            asked = request(topic, offsets, max_wait_ms=3_600_000, **CUT_READS[name])
            answer = await client.ask(asked, VERSION, FetchResponse)
            assert sum(sizes(answer).values()) > 3000
            client.close()

    run(scenario())


def test_a_fetch_waits_where_its_limits_allow_less_than_its_min_bytes(tmp_path: Path) -> None:
    """As in Apache Kafka: one partition may bring 10,000 bytes, and 20,000 are asked for."""

    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await opened(broker)
            topic = await create(client, "t")
            for _ in range(10):
                await produce(client, "t", b"x" * 3000)
            limits = {"min_bytes": 20_000, "partition_max": 10_000}
            client.send(request(topic, {0: 0}, max_wait_ms=3_600_000, **limits), VERSION)
            await until(lambda: bool(broker.cluster.partition("t", 0).watchers))
            client.close()

    run(scenario())


def test_a_fetch_from_an_older_segment_does_not_wait(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await opened(broker)
            topic = await create(client, "t", segment_bytes="1048576", max_message_bytes="1000000")
            await produce(client, "t", b"little")
            for _ in range(2):
                await produce(client, "t", b"x" * 600_000)
            asked = request(topic, {0: 0}, min_bytes=1_100_000, partition_max=1 << 21, max_wait_ms=3_600_000)
            answer = await client.ask(asked, VERSION, FetchResponse)
            assert 600_000 < sizes(answer)[0] < 700_000
            client.close()

    run(scenario())


def test_an_answer_whose_limit_leaves_a_small_batch_of_a_large_log(tmp_path: Path) -> None:
    """The last partition has much to give, and the limit lets it give one small batch: too little to be left in its file,
    where the answers' encoding takes large ones alone.
    """

    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await broker.connect()
            topic_id = await create(client, "t", 2)
            await produce(client, "t", bytes(1_040_000))
            for value in (bytes(8_000), bytes(50_000)):
                await produce(client, "t", value, partition=1)
            for room in (9_000, 20_000, 40_000, 60_000):
                asked = request(topic_id, {0: 0, 1: 0}, max_bytes=1_040_100 + room)
                found = sizes(await client.ask(asked, VERSION, FetchResponse))
                assert found[0] > 1_040_000
                assert 8_000 < found[1] < 9_000 if room < 60_000 else found[1] > 58_000
            client.close()

    run(scenario())
