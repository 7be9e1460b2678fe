"""Every version of every API is answered with something that the version can carry, for good and for bad input."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pykbroker.handlers.table import SUPPORTED, ServedApi
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.apis import ApiKey, request_class
from pykbroker.wire.message import Message
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.describe_acls import DescribeAclsRequest
from pykbroker.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from pykbroker.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

BATCH = encode_batch(
    [Record(offset=0, timestamp=1_700_000_000_000, key=b"k", value=b"v", headers=[])],
    producer_id=5,
    producer_epoch=0,
    base_sequence=0,
)
BAD_BATCH = BATCH[:-1] + b"?"

TopicOf = Callable[[int, int], dict[str, object]]


def produce_requests(version: int, name: str, by_id: dict[str, object]) -> list[Message]:
    topic = by_id if version >= 13 else {"name": name}
    return [
        ProduceRequest(
            acks=acks,
            timeout_ms=10,
            topic_data=[
                TopicProduceData(
                    **topic,
                    partition_data=[
                        PartitionProduceData(index=0, records=records),
                        PartitionProduceData(index=9, records=records),
                    ],
                )
            ],
        )
        for acks, records in ((-1, BATCH), (1, BAD_BATCH), (7, BATCH))
    ]


def fetch_requests(version: int, name: str, by_id: dict[str, object]) -> list[Message]:
    topic = by_id if version >= 13 else {"topic": name}
    return [
        FetchRequest(
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=1 << 20,
            isolation_level=isolation,
            topics=[
                FetchTopic(
                    **topic,
                    partitions=[
                        FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20),
                        FetchPartition(partition=9, fetch_offset=0, partition_max_bytes=1 << 20),
                    ],
                )
            ],
        )
        for offset, isolation in ((0, 0), (0, 1), (77, 0))
    ]


def list_offsets_requests(name: str) -> list[Message]:
    return [
        ListOffsetsRequest(
            replica_id=-1,
            topics=[
                ListOffsetsTopic(
                    name=name,
                    partitions=[
                        ListOffsetsPartition(partition_index=0, timestamp=timestamp),
                        ListOffsetsPartition(partition_index=9, timestamp=timestamp),
                    ],
                )
            ],
        )
        for timestamp in (0, -1, -2, -3, -4, -5, -6, -9)
    ]


def requests(key: ApiKey, version: int, name: str, topic_id: bytes) -> list[Message]:
    """Questions about partitions 0 (there), 9 (not there), of a topic that may or may not exist."""
    by_id = {"topic_id": topic_id}
    match key:
        case ApiKey.PRODUCE:
            return produce_requests(version, name, by_id)
        case ApiKey.FETCH:
            return fetch_requests(version, name, by_id)
        case ApiKey.LIST_OFFSETS:
            return list_offsets_requests(name)
        case ApiKey.DELETE_RECORDS:
            asked = [DeleteRecordsPartition(partition_index=index, offset=0) for index in (0, 9)]
            return [DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=name, partitions=asked)], timeout_ms=10)]
        case ApiKey.INIT_PRODUCER_ID:
            return [InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)]
        case ApiKey.OFFSET_FOR_LEADER_EPOCH:
            asked = [OffsetForLeaderPartition(partition=index, leader_epoch=0) for index in (0, 9)]
            topics = [OffsetForLeaderTopic(topic=name, partitions=asked)]
            return [OffsetForLeaderEpochRequest(replica_id=-2, topics=topics)]
        case ApiKey.DESCRIBE_PRODUCERS:
            return [DescribeProducersRequest(topics=[TopicRequest(name=name, partition_indexes=[0, 9])])]
        case ApiKey.DESCRIBE_LOG_DIRS:
            return [
                DescribeLogDirsRequest(topics=None),
                DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic=name, partitions=[0, 9])]),
            ]
        case ApiKey.API_VERSIONS:
            names = {"client_software_name": "test", "client_software_version": "1"} if version >= 3 else {}
            return [request_class(key)(**names)]
        case ApiKey.DESCRIBE_ACLS:
            return [DescribeAclsRequest(1, None, 1, None, None, 1, 1)]
        case _:
            return [request_class(key)()]


@pytest.mark.parametrize("api", SUPPORTED, ids=lambda api: api.key.name)
def test_every_version_is_answered(api: ServedApi) -> None:
    world = MemoryCluster()
    create = CreateTopicsRequest([CreatableTopic("there", num_partitions=1, replication_factor=1)], timeout_ms=10)
    topics = [("there", world.ask(create, 7).topics[0].topic_id), ("away", b"\x01" * 16)]
    for version in range(api.min_version, api.max_version + 1):
        for name, topic_id in topics:
            for request in requests(api.key, version, name, topic_id):
                assert world.ask(request, version) is not None
