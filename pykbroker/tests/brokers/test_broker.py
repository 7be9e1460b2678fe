"""Two brokers of one cluster that each own their node: what is not here and what does not exist are two answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.brokers.cluster import Cluster, OwnStore
from pykbroker.brokers.lifecycle import BrokerLifecycle
from pykbroker.brokers.store import Store
from pykbroker.config.broker import BrokerConfig
from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.image import Endpoint
from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.storage.directories.manager import LogManager
from pykbroker.tests.kit.cluster import GROUP, LISTENER, MemoryCluster
from pykbroker.tests.kit.serialising_port import serialising
from pykbroker.tests.kit.transactions import Producer
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.describe_producers import DescribeProducersRequest
from pykbroker.wire.messages.describe_producers import TopicRequest as DescribedTopic
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from pykbroker.wire.records import Record, encode_batch

NONE = ErrorCode.NONE
NOT_HERE = ErrorCode.NOT_LEADER_OR_FOLLOWER
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class OwnNodes(MemoryCluster):
    """Brokers 1 and 2, each with its own log directory; topic ``one`` is on broker 1, ``two`` on broker 2."""

    def __init__(self) -> None:
        super().__init__(brokers=2, offsets_topic_replication_factor="1", transaction_state_log_replication_factor="1")
        self.create(NewTopic("one", assignments=[(0, [1])]), NewTopic("two", assignments=[(0, [2])]))

    def start(self) -> None:
        config = BrokerConfig(self.settings)
        self.cluster = cluster = Cluster.open(
            config, Path("/data"), self.disk, self.clock, self.random, port=serialising, own=OwnStore(1)
        )
        logs = LogManager(
            Path("/data2"), self.disk, self.clock, node_id=2, cluster_id=cluster.logs.cluster_id, random=self.random
        )
        logs.load()
        store = Store(config, logs, cluster.metadata, cluster.runtime, 2)
        store.begin()
        self.lifecycle = BrokerLifecycle(cluster)
        self.lifecycle.start_all({i: [Endpoint(LISTENER, f"host{i}", 9000 + i)] for i in (1, 2)}, stores={2: store})

    def state(self, transactional_id: str, coordinator: int | None = None) -> str:
        if coordinator is None:
            return super().state(transactional_id)
        answer = self.ask(DescribeTransactionsRequest([transactional_id]), 0, broker=coordinator)
        return answer.transaction_states[0].transaction_state

    def here(self, broker: int) -> set[str]:
        return {each.topic for each in self.cluster.brokers[broker].partitions()}


@pytest.fixture
def world() -> OwnNodes:
    return OwnNodes()


def produce(world: OwnNodes, topic: str, broker: int) -> int:
    data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, encode_batch([Record(value=b"x")]))])]
    answer = world.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=data), 9, broker=broker)
    return answer.responses[0].partition_responses[0].error_code


def fetch(world: OwnNodes, topic: str, broker: int) -> int:
    asked = [FetchTopic(topic, partitions=[FetchPartition(0, -1, 0, -1, 0, 1000)])]
    answer = world.ask(FetchRequest(max_bytes=1000, session_epoch=-1, topics=asked), 11, broker=broker)
    return answer.responses[0].partitions[0].error_code


def list_offsets(world: OwnNodes, topic: str, broker: int) -> int:
    asked = [ListOffsetsTopic(topic, [ListOffsetsPartition(0, timestamp=-1)])]
    return world.ask(ListOffsetsRequest(topics=asked), 7, broker=broker).topics[0].partitions[0].error_code


def offset_for_leader_epoch(world: OwnNodes, topic: str, broker: int) -> int:
    asked = [OffsetForLeaderTopic(topic, [OffsetForLeaderPartition(0, leader_epoch=0)])]
    return world.ask(OffsetForLeaderEpochRequest(topics=asked), 4, broker=broker).topics[0].partitions[0].error_code


def delete_records(world: OwnNodes, topic: str, broker: int) -> int:
    asked = [DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, 0)])]
    return world.ask(DeleteRecordsRequest(asked, 1000), 2, broker=broker).topics[0].partitions[0].error_code


def describe_producers(world: OwnNodes, topic: str, broker: int) -> int:
    answer = world.ask(DescribeProducersRequest([DescribedTopic(topic, [0])]), 0, broker=broker)
    return answer.topics[0].partitions[0].error_code


def write_txn_markers(world: OwnNodes, topic: str, broker: int) -> int:
    marker = WritableTxnMarker(1, 0, transaction_result=True, topics=[WritableTxnMarkerTopic(topic, [0])])
    answer = world.ask(WriteTxnMarkersRequest([marker]), 1, broker=broker)
    return answer.markers[0].topics[0].partitions[0].error_code


DATA = [
    produce,
    fetch,
    list_offsets,
    offset_for_leader_epoch,
    delete_records,
    describe_producers,
    write_txn_markers,
]


@pytest.mark.parametrize("ask", DATA, ids=lambda ask: ask.__name__)
def test_what_each_answers(world, ask) -> None:
    assert [ask(world, "one", broker) for broker in (1, 2)] == [NONE, NOT_HERE]
    assert [ask(world, "two", broker) for broker in (1, 2)] == [NOT_HERE, NONE]
    assert [ask(world, "none", broker) for broker in (1, 2)] == [UNKNOWN, UNKNOWN]


def test_each_has_its_own_partitions_and_files(world) -> None:
    assert [produce(world, "one", 1), produce(world, "two", 2)] == [NONE, NONE]
    assert [world.here(1), world.here(2)] == [{"one"}, {"two"}]
    assert [world.partition(topic).log.path for topic in ("one", "two")] == ["/data/one-0", "/data2/two-0"]
    world.restart()
    assert [world.here(1), world.here(2)] == [{"one"}, {"two"}]
    assert [world.read("one"), world.read("two")] == [[b"x"], [b"x"]]


def test_each_sees_the_whole_cluster(world) -> None:
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in ("one", "two")])
    seen = [world.ask(asked, 9, broker=broker) for broker in (1, 2)]
    assert [[topic.partitions[0].leader_id for topic in each.topics] for each in seen] == [[1, 2], [1, 2]]


def test_offsets_are_committed_for_partitions_that_exist_anywhere(world) -> None:
    topics = [
        OffsetCommitRequestTopic(name, partitions=[OffsetCommitRequestPartition(0, 7)])
        for name in ("one", "two", "none")
    ]
    coordinator = world.coordinator(GROUP)
    answer = world.ask(OffsetCommitRequest(GROUP, topics=topics), 8, broker=coordinator)
    codes = {topic.name: topic.partitions[0].error_code for topic in answer.topics}
    assert codes == {"one": NONE, "two": NONE, "none": UNKNOWN}
    other = world.ask(OffsetCommitRequest(GROUP, topics=topics[:1]), 8, broker=3 - coordinator)
    assert other.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
    loaded = {each: set(world.cluster.brokers[each].groups.shards.loaded) for each in (1, 2)}
    assert loaded[3 - coordinator] == set()
    assert all(world.cluster.brokers[coordinator].partition(CONSUMER_OFFSETS, index) for index in loaded[coordinator])


def test_a_transaction_has_its_marker_in_the_partitions_of_both(world) -> None:
    producer = Producer(world, "tx").started()
    for topic in ("one", "two"):
        assert producer.send(b"x", topic) is NONE
    assert producer.commit() is NONE
    assert world.state("tx") == "CompleteCommit"
    assert [world.read("one"), world.read("two")] == [[b"x"], [b"x"]]


def test_a_marker_to_a_leader_elsewhere_is_not_taken_for_written(world) -> None:
    """As where the leader runs in another process: the transaction is not complete before the marker is there."""
    producer = Producer(world, "tx").started()
    for topic in ("one", "two"):
        assert producer.send(b"x", topic) is NONE
    coordinator = producer.coordinator
    away, topic = 3 - coordinator, "two" if coordinator == 1 else "one"
    broker = world.cluster.brokers.pop(away)
    assert producer.commit() is NONE
    world.advance(1000)
    assert world.state("tx", coordinator) == "PrepareCommit"
    world.cluster.brokers[away] = broker
    world.advance(10_000)
    assert world.state("tx") == "CompleteCommit"
    assert world.read(topic) == [b"x"]
