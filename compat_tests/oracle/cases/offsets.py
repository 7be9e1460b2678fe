"""ListOffsets, OffsetForLeaderEpoch, DeleteRecords, DescribeLogDirs."""

from __future__ import annotations

from compat_tests.oracle.cases import case
from compat_tests.oracle.requests import START_MS, Ask, records
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.compression import Compression
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from pykbroker.wire.records import Record, encode_batch

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5


def offsets(topic: str, timestamp: int, partition: int = 0, epoch: int = -1, isolation: int = 0) -> ListOffsetsRequest:
    asked = ListOffsetsPartition(partition_index=partition, current_leader_epoch=epoch, timestamp=timestamp)
    return ListOffsetsRequest(-1, isolation, [ListOffsetsTopic(topic, [asked])])


@case(ApiKey.LIST_OFFSETS)
def special_timestamps(ask: Ask) -> None:
    topic = ask.topic()
    for timestamp in range(LATEST, -9, -1):
        ask(offsets(topic, timestamp))
    ask.fill(topic, 10)
    for timestamp in range(LATEST, -9, -1):
        ask(offsets(topic, timestamp))


@case(ApiKey.LIST_OFFSETS)
def by_time(ask: Ask) -> None:
    for codec in (Compression.NONE, Compression.GZIP):
        topic = ask.topic(codec.name)
        ask.fill(topic, 10, compression=codec)
        for seconds in (-1, 0, 3, 4, 4.5, 9, 9.001):
            ask(offsets(topic, START_MS + int(seconds * 1000)))
        ask(offsets(topic, 0))


@case(ApiKey.LIST_OFFSETS)
def times_that_go_back(ask: Ask) -> None:
    topic = ask.topic()
    for seconds in ([1, 5, 3], [2, 5, 4], [9, 0]):
        ask.produce(topic, encode_batch([Record(timestamp=START_MS + 1000 * s, value=b"v") for s in seconds]))
    for seconds in (0, 2, 3, 5, 6, 9):
        ask(offsets(topic, START_MS + 1000 * seconds))
    ask(offsets(topic, MAX_TIMESTAMP))


@case(ApiKey.LIST_OFFSETS)
def the_largest_timestamp_after_ties(ask: Ask) -> None:
    topic = ask.topic()
    for _ in range(2):
        ask.produce(topic, encode_batch([Record(timestamp=START_MS, value=b"v") for _ in range(3)]))
    ask(offsets(topic, MAX_TIMESTAMP))


@case(ApiKey.LIST_OFFSETS)
def the_largest_append_time(ask: Ask) -> None:
    topic = ask.topic(message_timestamp_type="LogAppendTime")
    ask.fill(topic, 3)
    answer = ask.quietly(offsets(topic, MAX_TIMESTAMP), 7).topics[0].partitions[0]
    ask.keep((answer.error_code, answer.offset))


@case(ApiKey.LIST_OFFSETS)
def what_is_not_there(ask: Ask) -> None:
    topic = ask.topic()
    ask(offsets(topic, LATEST, partition=7))
    ask(offsets(topic, LATEST, partition=-1))
    ask(offsets(ask.name("none"), LATEST))
    ask(offsets("no spaces", LATEST))


@case(ApiKey.LIST_OFFSETS, since=2)
def read_committed(ask: Ask) -> None:
    topic = ask.topic()
    ask.fill(topic, 5)
    ask(offsets(topic, LATEST, isolation=1))
    ask(offsets(topic, START_MS + 2000, isolation=1))


@case(ApiKey.LIST_OFFSETS, since=4)
def leader_epochs(ask: Ask) -> None:
    topic = ask.topic()
    for epoch in (0, 1, 9):
        ask(offsets(topic, LATEST, epoch=epoch))


@case(ApiKey.LIST_OFFSETS)
def the_same_partition_twice(ask: Ask) -> None:
    topic = ask.topic()
    ask.fill(topic, 5)
    request = offsets(topic, LATEST)
    request.topics[0].partitions.append(ListOffsetsPartition(0, -1, EARLIEST))
    ask(request)


@case(ApiKey.LIST_OFFSETS)
def after_records_were_deleted(ask: Ask) -> None:
    topic = ask.topic()
    ask.fill(topic, 10)
    ask.quietly(delete(topic, 7), 2)
    for timestamp in (EARLIEST, LATEST, START_MS, START_MS + 8000):
        ask(offsets(topic, timestamp))


# ---- OffsetForLeaderEpoch


def end_of(topic: str, epoch: int, partition: int = 0, current: int = -1) -> OffsetForLeaderEpochRequest:
    asked = OffsetForLeaderPartition(partition=partition, current_leader_epoch=current, leader_epoch=epoch)
    return OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic(topic, [asked])])


@case(ApiKey.OFFSET_FOR_LEADER_EPOCH)
def ends_of_epochs(ask: Ask) -> None:
    topic = ask.topic()
    for epoch in (-1, 0, 1):
        ask(end_of(topic, epoch))
    ask.fill(topic, 10)
    for epoch in (-1, 0, 1):
        ask(end_of(topic, epoch))
    for current in (0, 5):
        ask(end_of(topic, 0, current=current))
    ask(end_of(topic, 0, partition=7))
    ask(end_of(ask.name("none"), 0))


# ---- DeleteRecords


def delete(topic: str, offset: int, partition: int = 0) -> DeleteRecordsRequest:
    return DeleteRecordsRequest([DeleteRecordsTopic(topic, [DeleteRecordsPartition(partition, offset)])], 10_000)


@case(ApiKey.DELETE_RECORDS)
def deleted(ask: Ask) -> None:
    topic = ask.topic()
    ask.fill(topic, 10)
    for offset in (4, 2, 4, 11, -5, -1):
        ask(delete(topic, offset))
    ask(offsets(topic, EARLIEST), 7)
    ask(offsets(topic, LATEST), 7)


@case(ApiKey.DELETE_RECORDS)
def not_deleted(ask: Ask) -> None:
    ask(delete(ask.topic(), 0, partition=7))
    ask(delete(ask.name("none"), 0))
    ask(delete("no spaces", 0))
    ask(delete(ask.topic("compacted", cleanup_policy="compact"), 0))


# ---- DescribeLogDirs


@case(ApiKey.DESCRIBE_LOG_DIRS)
def folders(ask: Ask) -> None:
    topic = ask.topic(partitions=2)
    ask.fill(topic, 5)
    ask(DescribeLogDirsRequest([DescribableLogDirTopic(topic, [0, 1])]))
    ask(DescribeLogDirsRequest([DescribableLogDirTopic(topic, [1])]))
    ask(DescribeLogDirsRequest([DescribableLogDirTopic(topic, [7])]))
    ask(DescribeLogDirsRequest([DescribableLogDirTopic(ask.name("none"), [0])]))
    ask(DescribeLogDirsRequest([]))


@case(ApiKey.DESCRIBE_LOG_DIRS)
def every_partition(ask: Ask) -> None:
    topic = ask.topic(partitions=2)
    ask.produce(topic, encode_batch(records(0, 3)), 1)
    answer = ask.quietly(DescribeLogDirsRequest(None), ask.version)
    for folder in answer.results:
        folder.topics = [found for found in folder.topics if found.name == topic]
    ask.keep(answer)
