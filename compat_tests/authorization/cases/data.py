"""Records: writing them, reading them, looking for them, and for the topics that hold them."""

from __future__ import annotations

from compat_tests.authorization.cases import case
from compat_tests.authorization.signing import SignedAsk
from compat_tests.oracle.requests import records
from pykbroker.security.operations import CLUSTER_ACTION, CREATE, DELETE, DESCRIBE, IDEMPOTENT_WRITE, READ, WRITE
from pykbroker.security.resources import CLUSTER, TOPIC, TRANSACTIONAL_ID
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest
from pykbroker.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pykbroker.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest
from pykbroker.wire.messages.describe_topic_partitions import TopicRequest as TopicName
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import encode_batch


def _written(
    ask: SignedAsk, *topics: str, batch: bytes, acks: int = -1, transactional_id: str | None = None
) -> ProduceRequest:
    data = [
        TopicProduceData(**ask.reference(topic, 13, "name"), partition_data=[PartitionProduceData(0, batch)])
        for topic in topics
    ]
    return ProduceRequest(transactional_id, acks, 10_000, data)


@case(ApiKey.PRODUCE, (TOPIC, "t", WRITE), (TOPIC, "u", WRITE), (TOPIC, "t", READ), versions=(3, 9, 12, 13))
def a_record_is_written(ask: SignedAsk) -> None:
    batch = encode_batch(records(0, 1))
    names = [ask.topic("t"), ask.topic("u"), ask.name("missing")]
    for acks in (-1, 0):
        ask(_written(ask, *names, batch=batch, acks=acks))
    ask(_written(ask, names[0], batch=batch, acks=1))
    ask(_written(ask, names[0], batch=batch, acks=7))
    ask(_written(ask, names[2], batch=batch))


@case(ApiKey.PRODUCE, (TOPIC, "t", WRITE), (TRANSACTIONAL_ID, "id", WRITE), versions=(3, 9))
def a_transactions_record_is_written(ask: SignedAsk) -> None:
    batch = encode_batch(records(0, 1), producer_id=123, producer_epoch=0, base_sequence=0, transactional=True)
    topic = ask.topic("t")
    ask(_written(ask, topic, batch=batch))
    ask(_written(ask, topic, batch=batch, acks=0, transactional_id=ask.name("other")))
    ask(_written(ask, topic, batch=batch, transactional_id=ask.name("other")))


@case(
    ApiKey.FETCH,
    (TOPIC, "t", READ),
    (TOPIC, "u", READ),
    (TOPIC, "t", DESCRIBE),
    (CLUSTER, None, CLUSTER_ACTION),
    versions=(4, 12, 18),
)
def records_are_read(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u"), ask.name("missing")]
    for name in names[:2]:
        ask.fill(name, 1)
    topics = [FetchTopic(**ask.reference(name, 13), partitions=[FetchPartition(0)]) for name in names]
    for topic in topics:
        for partition in topic.partitions:
            partition.partition_max_bytes = 10_000
    ask(FetchRequest(max_wait_ms=0, max_bytes=10_000, session_epoch=-1, topics=topics))
    ask(FetchRequest(max_wait_ms=0, max_bytes=10_000, session_epoch=-1, topics=topics[:1]))
    ask(FetchRequest(max_wait_ms=0, max_bytes=10_000, session_epoch=-1, topics=topics[1:]))


@case(ApiKey.FETCH, (TOPIC, "t", READ), versions=(7, 12, 18))
def records_are_read_in_a_session(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u")]
    topics = [
        FetchTopic(**ask.reference(name, 13), partitions=[FetchPartition(0, partition_max_bytes=10_000)])
        for name in names
    ]
    connection = ask.connect()
    opened = connection.ask(FetchRequest(max_wait_ms=0, max_bytes=10_000, session_epoch=0, topics=topics), ask.version)
    ask.keep(opened)
    for epoch in (1, 2):
        again = FetchRequest(max_wait_ms=0, max_bytes=10_000, session_id=opened.session_id, session_epoch=epoch)
        ask.keep(connection.ask(again, ask.version))


@case(ApiKey.FETCH, (TOPIC, "t", READ), versions=(12, 18))
def records_are_read_by_what_says_it_is_a_follower(ask: SignedAsk) -> None:
    topics = [FetchTopic(**ask.reference(ask.topic("t"), 13), partitions=[FetchPartition(0)])]
    follower = {"replica_id": 5} if ask.version < 15 else {"replica_state": ReplicaState(5, 1)}
    ask(FetchRequest(max_wait_ms=0, max_bytes=10_000, session_epoch=-1, topics=topics, **follower))


@case(ApiKey.LIST_OFFSETS, (TOPIC, "t", DESCRIBE), (TOPIC, "u", READ), versions=(1, 4, 10))
def offsets_are_looked_for(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u"), ask.name("missing")]
    asked = [ListOffsetsPartition(partition, -1, -1) for partition in (0, 1)]
    ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic(name, asked) for name in names]))
    ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic(names[0], asked)]))


@case(ApiKey.OFFSET_FOR_LEADER_EPOCH, (TOPIC, "t", DESCRIBE), (CLUSTER, None, CLUSTER_ACTION))
def ends_of_epochs_are_looked_for(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u"), ask.name("missing")]
    topics = [OffsetForLeaderTopic(name, [OffsetForLeaderPartition(0, -1, 0)]) for name in names]
    ask(OffsetForLeaderEpochRequest(-1, topics))


@case(ApiKey.DELETE_RECORDS, (TOPIC, "t", DELETE), (TOPIC, "u", WRITE))
def records_are_deleted(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u"), ask.name("missing")]
    ask(DeleteRecordsRequest([DeleteRecordsTopic(name, [DeleteRecordsPartition(0, -1)]) for name in names], 1000))


@case(ApiKey.DESCRIBE_PRODUCERS, (TOPIC, "t", READ), (TOPIC, "u", DESCRIBE))
def producers_are_described(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u"), ask.name("missing"), "no/topic"]
    ask(DescribeProducersRequest([TopicRequest(name, [0, 1]) for name in names]))


@case(ApiKey.INIT_PRODUCER_ID, (CLUSTER, None, IDEMPOTENT_WRITE), (TOPIC, "t", WRITE), (TRANSACTIONAL_ID, "id", WRITE))
def a_producer_begins(ask: SignedAsk) -> None:
    ask.producer_id()
    ask(InitProducerIdRequest(None, 60_000))
    if ask.version >= 3:
        ask(InitProducerIdRequest(None, 60_000, 5, -1))
    ask(InitProducerIdRequest(ask.name("other"), 60_000))


@case(
    ApiKey.METADATA, (TOPIC, "t", DESCRIBE), (TOPIC, "new", CREATE), (TOPIC, "new", DESCRIBE), (CLUSTER, None, DESCRIBE),
    versions=(0, 4, 8, 10, 13),
)  # fmt: skip
def topics_are_described(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u"), ask.name("missing"), "no/topic", "__consumer_offsets"]
    operations = {"include_topic_authorized_operations": ask.version >= 8}
    if 8 <= ask.version <= 10:
        operations["include_cluster_authorized_operations"] = True
    asked = [MetadataRequestTopic(name=name) for name in names]
    ask(MetadataRequest(asked, ask.version < 4, **operations))
    if ask.version >= 4:
        ask(MetadataRequest([MetadataRequestTopic(name=ask.name("new"))], True, **operations))
    if ask.version >= 12:
        by_id = [MetadataRequestTopic(topic_id=ask.topic_ids[name], name=None) for name in names[:2]]
        ask(MetadataRequest([*by_id, MetadataRequestTopic(topic_id=bytes(range(16)), name=None)], False, **operations))


@case(ApiKey.METADATA, (TOPIC, "t", READ), (CLUSTER, None, CREATE), versions=(0, 1, 8, 13))
def all_topics_are_described(ask: SignedAsk) -> None:
    ask.topic("t")
    operations = {"include_topic_authorized_operations": ask.version >= 8}
    everything = ask.quietly_as_user(MetadataRequest([] if ask.version == 0 else None, True, **operations))
    everything.topics = [topic for topic in everything.topics if (topic.name or "").startswith(ask.prefix)]
    ask.keep(everything)


@case(ApiKey.DESCRIBE_CLUSTER, (CLUSTER, None, DESCRIBE), (CLUSTER, None, DELETE))
def the_cluster_is_described(ask: SignedAsk) -> None:
    for operations in (False, True):
        ask(DescribeClusterRequest(operations))


@case(ApiKey.DESCRIBE_TOPIC_PARTITIONS, (TOPIC, "t", DESCRIBE), (TOPIC, "u", WRITE))
def partitions_are_described(ask: SignedAsk) -> None:
    names = [ask.topic("t", 2), ask.topic("u"), ask.name("missing")]
    ask(DescribeTopicPartitionsRequest([TopicName(name) for name in names], 100))
    ask(DescribeTopicPartitionsRequest([TopicName(name) for name in names], 1))
    ask(DescribeTopicPartitionsRequest([TopicName(name) for name in names], 1, Cursor(names[0], 1)))
