"""Whoever reads what is not in memory waits for the disk in a thread: nobody else waits with him.

The disk is a real one whose page cache is empty and whose cold reads end only when the test says so, after other clients'
produces were acknowledged. ``stalls`` counts cold reads of the loop's thread. Each case is run once more with the reads done
inline: then there are stalls, so the count can fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pykbroker.process.housekeeping import Housekeeping
from pykbroker.runtime.runtime import run_inline
from pykbroker.runtime.waits import as_wait
from pykbroker.simulation.colddisk import ColdDisk
from pykbroker.tests.kit.running import Client, RunningBroker, ended, running_broker, until
from pykbroker.tests.network.test_connection import fetch, produce, run
from pykbroker.tests.storage.support import append_marker, batch
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
from pykbroker.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from pykbroker.wire.messages.describe_producers import DescribeProducersRequest, DescribeProducersResponse, TopicRequest
from pykbroker.wire.messages.fetch import FetchResponse
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from pykbroker.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from pykbroker.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from pykbroker.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from pykbroker.wire.messages.produce import ProduceResponse

#: More than there are threads for reading, so that the last of them queue up.
READERS = 12
PRODUCES = 100
BATCHES = 60
SETTINGS = {"log.segment.bytes": str(1024 * 1024), "offsets.topic.num.partitions": "1"}

Question = Callable[[RunningBroker, Client, int], Awaitable[None]]


def test_a_cold_file_is_told_from_a_warm_one(tmp_path: Path) -> None:
    disk = ColdDisk()
    path = str(tmp_path / "file")
    disk.create(path)
    file = disk.open(path)
    file.pwrite(bytes(10_000), 0)
    assert file.pread_cached(10_000, 0) == bytes(10_000)
    disk.chill()
    assert file.pread_cached(100, 5000) is None
    assert file.pread(100, 5000) == bytes(100)
    assert len(disk.stalls) == 1
    assert file.pread_cached(100, 5100) == bytes(100)  # the page is in memory now
    assert file.pread_cached(100, 0) is None


async def create(client: Client, name: str, **configs: str) -> None:
    topic = CreatableTopic(
        name=name,
        num_partitions=1,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )
    answer = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7, CreateTopicsResponse)
    assert answer.topics[0].error_code == 0


async def fill(directory: Path) -> int:
    """Topics with segments to read, an aborted transaction among them, and a group; the time of the first record."""
    async with running_broker(directory, SETTINGS) as broker:
        client = await broker.connect()
        await create(client, "old", index_interval_bytes="4096")
        await create(client, "keys", cleanup_policy="compact", min_cleanable_dirty_ratio="0.01")
        now = broker.cluster.runtime.clock.now_ms()
        value = b"v" * 100_000
        for name in ("old", "keys"):
            partition = broker.cluster.partition(name, 0)
            for number in range(BATCHES):
                appended = partition.append_produce(
                    batch([b"%d:" % number + value], keys=[b"k"], timestamp=now + number)
                )
                await ended(as_wait(appended))  # a thread reads the records of a compacted topic
            if name == "old":
                gone = batch([b"aborted"], keys=[b"k"], timestamp=now, producer=(7, 0, 0), transactional=True)
                await ended(as_wait(partition.append_produce(gone)))
                append_marker(partition.log, 7, 0, commit=False)
        await client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4, FindCoordinatorResponse)
        committed = await client.ask(
            OffsetCommitRequest(
                group_id="g",
                topics=[
                    OffsetCommitRequestTopic(
                        name="old", partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=5)]
                    )
                ],
            ),
            8,
            OffsetCommitResponse,
        )
        assert committed.topics[0].partitions[0].error_code == 0
        client.close()
        return now


async def fetch_old(broker: RunningBroker, client: Client, first: int) -> None:
    for offset in (0, BATCHES // 2):
        answer = (await client.ask(fetch(offset, topic="old"), 12, FetchResponse)).responses[0].partitions[0]
        assert (answer.error_code, answer.high_watermark) == (0, BATCHES + 2)
        assert b"%d:vvv" % offset in bytes(answer.records)


async def fetch_committed(broker: RunningBroker, client: Client, first: int) -> None:
    request = fetch(BATCHES - 1, topic="old")
    request.isolation_level = 1
    answer = (await client.ask(request, 12, FetchResponse)).responses[0].partitions[0]
    assert [(txn.producer_id, txn.first_offset) for txn in answer.aborted_transactions] == [(7, BATCHES)]


async def ask_offset(client: Client, timestamp: int) -> int:
    topic = ListOffsetsTopic(name="old", partitions=[ListOffsetsPartition(partition_index=0, timestamp=timestamp)])
    answer = await client.ask(ListOffsetsRequest(replica_id=-1, topics=[topic]), 7, ListOffsetsResponse)
    assert answer.topics[0].partitions[0].error_code == 0
    return answer.topics[0].partitions[0].offset


async def offset_by_time(broker: RunningBroker, client: Client, first: int) -> None:
    assert await ask_offset(client, first + 20) == 20


async def offset_of_largest_time(broker: RunningBroker, client: Client, first: int) -> None:
    assert await ask_offset(client, -3) == BATCHES - 1


async def log_dirs(broker: RunningBroker, client: Client, first: int) -> None:
    answer = await client.ask(DescribeLogDirsRequest(topics=None), 2, DescribeLogDirsResponse)
    sizes = {topic.name: topic.partitions[0].partition_size for topic in answer.results[0].topics}
    assert sizes["old"] > BATCHES * 100_000
    assert broker.cluster.partition("old", 0).opened_log is None


async def end_of_epoch(broker: RunningBroker, client: Client, first: int) -> None:
    partition = OffsetForLeaderPartition(partition=0, leader_epoch=0)
    request = OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[OffsetForLeaderTopic(topic="old", partitions=[partition])]
    )
    answer = await client.ask(request, 3, OffsetForLeaderEpochResponse)
    assert answer.topics[0].partitions[0].end_offset == BATCHES + 2


async def producers(broker: RunningBroker, client: Client, first: int) -> None:
    request = DescribeProducersRequest(topics=[TopicRequest(name="old", partition_indexes=[0])])
    answer = await client.ask(request, 0, DescribeProducersResponse)
    assert [each.producer_id for each in answer.topics[0].partitions[0].active_producers] == [7]


async def delete_records(broker: RunningBroker, client: Client, first: int) -> None:
    topic = DeleteRecordsTopic(name="old", partitions=[DeleteRecordsPartition(partition_index=0, offset=3)])
    answer = await client.ask(DeleteRecordsRequest(topics=[topic], timeout_ms=1000), 2, DeleteRecordsResponse)
    assert answer.topics[0].partitions[0].low_watermark == 3


async def produce_to_closed(broker: RunningBroker, client: Client, first: int) -> None:
    """Requests sent ahead are taken up in their order, though the first has to wait for its log."""
    end = broker.cluster.partition("old", 0).opened_log
    sent = [client.send(produce(b"new", topic="old"), 9) for _ in range(5)]
    received = [await client.receive(ProduceResponse, 9) for _ in sent]
    assert [correlation for correlation, _ in received] == sent
    offsets = [answer.responses[0].partition_responses[0].base_offset for _, answer in received]
    assert offsets == sorted(offsets)
    assert end is not None or min(offsets) >= BATCHES + 2


async def committed_offset(broker: RunningBroker, client: Client, first: int) -> None:
    group = OffsetFetchRequestGroup(group_id="g", topics=[OffsetFetchRequestTopics(name="old", partition_indexes=[0])])
    while True:
        answer = (await client.ask(OffsetFetchRequest(groups=[group]), 8, OffsetFetchResponse)).groups[0]
        if answer.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            break
    assert answer.topics[0].partitions[0].committed_offset == 5


async def opened_little_by_little(broker: RunningBroker, client: Client, first: int) -> None:
    Housekeeping(broker.cluster, durable=False).stores()[0].open_a_few()
    await until(lambda: all(broker.cluster.partition(name, 0).opened_log is not None for name in ("old", "keys")))


async def retention(broker: RunningBroker, client: Client, first: int) -> None:
    await opened_little_by_little(broker, client, first)
    await done(Housekeeping(broker.cluster, durable=False).run_retention())


async def compaction(broker: RunningBroker, client: Client, first: int) -> None:
    await opened_little_by_little(broker, client, first)
    before = bytes_on_disk(broker, "keys")
    await done(Housekeeping(broker.cluster, durable=False).run_compaction())
    assert bytes_on_disk(broker, "keys") < before / 2


def bytes_on_disk(broker: RunningBroker, topic: str) -> int:
    files = Path(broker.cluster.partition(topic, 0).log.path).glob("*.log")
    return sum(file.stat().st_size for file in files)


async def done(deferred) -> None:
    over = asyncio.get_running_loop().create_future()
    deferred.when_done(lambda ended: over.set_result(ended.value))
    await over


QUESTIONS: list[Question] = [
    fetch_old,
    fetch_committed,
    offset_by_time,
    offset_of_largest_time,
    log_dirs,
    end_of_epoch,
    producers,
    delete_records,
    produce_to_closed,
    committed_offset,
    opened_little_by_little,
    retention,
    compaction,
]


@pytest.mark.deep(but=1)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.__name__)
def test_nobody_waits_for_the_cold_reads_of_others(tmp_path: Path, question: Question) -> None:
    async def scenario() -> None:
        first = await fill(tmp_path)
        disk = ColdDisk()
        async with running_broker(tmp_path, SETTINGS, disk) as broker:
            client = await broker.connect()
            await create(client, "busy")
            await create(client, "synced", flush_messages="1")
            disk.chill()
            disk.gate.clear()
            several = READERS if question in (fetch_old, offset_by_time) else 1
            readers = [await broker.connect() for _ in range(several)]
            reading = asyncio.gather(*(question(broker, reader, first) for reader in readers))
            await until(lambda: disk.waiting > 0)
            for topic in ("busy", "synced"):
                for number in range(PRODUCES):
                    answer = await client.ask(produce(b"now", topic=topic), 9, ProduceResponse)
                    assert answer.responses[0].partition_responses[0].base_offset == number
            assert disk.waiting
            assert not reading.done()
            disk.gate.set()
            await reading
            assert disk.stalls == []
            for each in (client, *readers):
                each.close()

    run(scenario())


@pytest.mark.deep(but=4)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.__name__)
def test_reads_done_inline_would_be_noticed(tmp_path: Path, question: Question) -> None:
    async def scenario() -> None:
        first = await fill(tmp_path)
        disk = ColdDisk()
        async with running_broker(tmp_path, SETTINGS, disk) as broker:
            broker.cluster.runtime.offload_read = run_inline
            client = await broker.connect()
            disk.chill()
            await question(broker, client, first)
            assert disk.stalls
            client.close()

    run(scenario())
