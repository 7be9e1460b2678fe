"""aiokafka: producing, reading, groups, admin, on asyncio.

Covers every codec, acks, headers, batches made by hand, idempotence, a slow consumer beside many producers on one connection,
groups with commit, resume and rebalance, offsets by time, admin. Left out: transactions; log folders (the client has no such call).
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.errors import MessageSizeTooLargeError, OffsetOutOfRangeError, TopicAlreadyExistsError
from aiokafka.structs import OffsetAndMetadata

from compat_tests.harness.awaiting import LIMIT_S


@asynccontextmanager
async def running(client):
    await client.start()
    try:
        yield client
    finally:
        await (client.close() if isinstance(client, AIOKafkaAdminClient) else client.stop())


class Clients:
    """Clients of one test: started here, stopped when the test's coroutine ends."""

    def __init__(self, bootstrap: str, stack: AsyncExitStack) -> None:
        self._enter = stack.enter_async_context
        self.bootstrap = bootstrap

    async def producer(self, **settings):
        return await self._enter(running(AIOKafkaProducer(bootstrap_servers=self.bootstrap, **settings)))

    async def consumer(self, *topics, **settings):
        settings = {"auto_offset_reset": "earliest", "heartbeat_interval_ms": 100, **settings}
        return await self._enter(running(AIOKafkaConsumer(*topics, bootstrap_servers=self.bootstrap, **settings)))

    async def admin(self):
        return await self._enter(running(AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)))

    async def topic(self, name, partitions=1, **configs):
        admin = await self.admin()
        await admin.create_topics([NewTopic(name, partitions, 1, topic_configs=configs)])
        return name


@pytest.fixture
def run(bootstrap):
    """Runs a coroutine function with the test's clients, three minutes at most."""

    def run(body):
        async def whole():
            async with asyncio.timeout(180), AsyncExitStack() as stack:
                return await body(Clients(bootstrap, stack))

        return asyncio.run(whole())

    return run


async def take(consumer, count):
    return [await asyncio.wait_for(consumer.getone(), 60) for _ in range(count)]


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_codec(run, name, codec):
    async def body(clients):
        topic = await clients.topic(name())
        producer = await clients.producer(compression_type=codec, linger_ms=20)
        sent = [f"value {i} ".encode() * 20 for i in range(300)]
        await asyncio.gather(*[await producer.send(topic, value) for value in sent])
        consumer = await clients.consumer(topic)
        assert [record.value for record in await take(consumer, 300)] == sent

    run(body)


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_acks(run, name, acks):
    async def body(clients):
        topic = await clients.topic(name())
        producer = await clients.producer(acks=acks)
        for i in range(20):
            await producer.send_and_wait(topic, b"%d" % i)
        consumer = await clients.consumer(topic)
        assert [r.value for r in await take(consumer, 20)] == [b"%d" % i for i in range(20)]

    run(body)


def test_record_keeps_key_headers_timestamp(run, name):
    async def body(clients):
        topic = await clients.topic(name())
        producer = await clients.producer()
        headers = [("trace", b"\x00\xff"), ("trace", b"again")]
        await producer.send_and_wait(topic, b"v", key=b"k", headers=headers, timestamp_ms=1_600_000_000_123)
        (record,) = await take(await clients.consumer(topic), 1)
        assert (record.key, record.value, record.timestamp) == (b"k", b"v", 1_600_000_000_123)
        assert list(record.headers) == headers

    run(body)


def test_batch_made_by_hand(run, name):
    async def body(clients):
        topic = await clients.topic(name())
        producer = await clients.producer()
        batch = producer.create_batch()
        for i in range(50):
            assert batch.append(key=None, value=b"%d" % i, timestamp=None)
        stored = await (await producer.send_batch(batch, topic, partition=0))
        assert stored.offset == 0
        assert [r.value for r in await take(await clients.consumer(topic), 50)] == [b"%d" % i for i in range(50)]

    run(body)


def test_idempotent_producer(run, name):
    async def body(clients):
        topic = await clients.topic(name())
        producer = await clients.producer(enable_idempotence=True, max_batch_size=500)
        stored = await asyncio.gather(*[await producer.send(topic, b"%04d" % i) for i in range(1000)])
        assert [at.offset for at in stored] == list(range(1000))

    run(body)


def test_too_large(run, name):
    async def body(clients):
        topic = await clients.topic(name(), **{"max.message.bytes": "1000"})
        producer = await clients.producer()
        with pytest.raises(MessageSizeTooLargeError):
            await producer.send_and_wait(topic, b"x" * 5000)

    run(body)


def test_a_long_poll_is_woken_by_a_produce(run, name):
    async def body(clients):
        topic = await clients.topic(name())
        producer = await clients.producer()
        await producer.send_and_wait(topic, b"first")
        consumer = await clients.consumer(topic, fetch_max_wait_ms=50_000)
        await take(consumer, 1)  # the next fetch goes out at once and waits
        await producer.send_and_wait(topic, b"wake up")
        assert (await asyncio.wait_for(consumer.getone(), 60)).value == b"wake up"

    run(body)


def test_offsets_by_time_and_seeking(run, name):
    async def body(clients):
        topic, base = await clients.topic(name()), 1_700_000_000_000
        producer = await clients.producer()
        for i in range(10):
            await producer.send_and_wait(topic, b"%d" % i, timestamp_ms=base + 1000 * i)
        partition = TopicPartition(topic, 0)
        consumer = await clients.consumer()
        consumer.assign([partition])
        found = await consumer.offsets_for_times({partition: base + 3500})
        assert (found[partition].offset, found[partition].timestamp) == (4, base + 4000)
        assert (await consumer.offsets_for_times({partition: base + 9001}))[partition] is None
        consumer.seek(partition, 8)
        assert [r.offset for r in await take(consumer, 2)] == [8, 9]
        await consumer.seek_to_beginning(partition)
        assert (await take(consumer, 1))[0].offset == 0
        assert await consumer.end_offsets([partition]) == {partition: 10}
        assert consumer.last_stable_offset(partition) == 10

    run(body)


def test_offset_out_of_range(run, name):
    async def body(clients):
        topic = await clients.topic(name())
        consumer = await clients.consumer(auto_offset_reset="none")
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), 100)
        with pytest.raises(OffsetOutOfRangeError):
            await asyncio.wait_for(consumer.getone(), 60)

    run(body)


def test_group_resumes_after_a_commit(run, name):
    async def body(clients):
        topic, group = await clients.topic(name()), name("group")
        producer = await clients.producer()
        for i in range(10):
            await producer.send_and_wait(topic, b"%d" % i)
        first = AIOKafkaConsumer(
            topic,
            bootstrap_servers=clients.bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        async with running(first):
            await take(first, 4)
            await first.commit({TopicPartition(topic, 0): OffsetAndMetadata(4, "here")})
        second = await clients.consumer(topic, group_id=group)
        assert [r.offset for r in await take(second, 6)] == [4, 5, 6, 7, 8, 9]

    run(body)


def test_group_rebalances(run, name):
    async def body(clients):
        topic, group = await clients.topic(name(), partitions=4), name("group")
        one = await clients.consumer(topic, group_id=group)
        two = await clients.consumer(topic, group_id=group)
        sizes = partial(lambda: [len(one.assignment()), len(two.assignment())])
        while sizes() != [2, 2]:
            await asyncio.gather(one.getmany(timeout_ms=50), two.getmany(timeout_ms=50))
        await two.stop()
        while len(one.assignment()) != 4:
            await one.getmany(timeout_ms=50)

    run(body)


def test_admin(run, name):
    async def body(clients):
        topic = await clients.topic(name(), partitions=2)
        admin = await clients.admin()
        refused = await admin.create_topics([NewTopic(topic, 2, 1)])
        assert refused.topic_errors[0][1] == TopicAlreadyExistsError.errno
        assert topic in await admin.list_topics()
        await admin.create_partitions({topic: NewPartitions(3)})
        async with asyncio.timeout(LIMIT_S):  # Apache Kafka's metadata follow a moment later
            while len((await admin.describe_topics([topic]))[0]["partitions"]) < 3:
                pass
        producer = await clients.producer()
        for i in range(5):
            await producer.send_and_wait(topic, b"%d" % i, partition=0)
        partition = TopicPartition(topic, 0)
        assert await admin.delete_records({partition: RecordsToDelete(before_offset=3)}) == {partition: 3}
        await admin.delete_topics([topic])
        async with asyncio.timeout(LIMIT_S):
            while topic in await admin.list_topics():
                pass

    run(body)


def test_admin_of_groups(run, name):
    async def body(clients):
        topic, group = await clients.topic(name()), name("group")
        consumer = await clients.consumer(topic, group_id=group)
        await consumer.commit({TopicPartition(topic, 0): 7})
        admin = await clients.admin()
        assert (group, "consumer") in await admin.list_consumer_groups()
        offsets = await admin.list_consumer_group_offsets(group)
        assert offsets[TopicPartition(topic, 0)].offset == 7
        (described,) = await admin.describe_consumer_groups([group])
        assert group in repr(described)

    run(body)
