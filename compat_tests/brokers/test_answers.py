"""What a broker says that does not lead: the same raw requests to two brokers of Apache Kafka 4.4.0 and to two of ours.

Of the topics, "t" is led by broker 1 and has a replica on broker 2, "alone" is on broker 1 only. All is asked of broker 2.
At the end broker 2 is stopped, which leads "moves" and "needs-both" and has "away" for itself, and broker 1 is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from compat_tests.harness.apache import ApacheBroker, ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.oracle.compare import divergences
from compat_tests.oracle.normalise import Normaliser
from compat_tests.oracle.requests import Ask, records
from compat_tests.oracle.transacting import quiet_until
from pykbroker.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest
from pykbroker.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pykbroker.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from pykbroker.wire.messages.describe_topic_partitions import TopicRequest as TopicName
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import encode_batch

TOPICS = {"t": [1, 2], "alone": [1]}
OTHERS = {"moves": [2, 1], "away": [2], "needs-both": [2, 1]}
SETTINGS = {"needs-both": [CreatableTopicConfig("min.insync.replicas", "2")]}
RACKS = ["a", "b"]
SELECTOR = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}


class Pair(NamedTuple):
    """Two brokers' addresses, and what both know of the topics."""

    leader: str
    follower: str
    topic_ids: dict[str, bytes]

    def ask(self, version: int, *, leader: bool = False) -> Ask:
        ask = Ask(self.leader if leader else self.follower, version, "brokers")
        ask.topic_ids.update(self.topic_ids)
        names = {topic_id: f"<id of {name}>" for name, topic_id in self.topic_ids.items()}
        ask.normalise = Normaliser(int(self.leader.rsplit(":", 1)[1]), names)
        return ask


def prepared(leader: str, follower: str) -> Pair:
    """The topics made and written to, and all replicas caught up."""
    ask = Ask(leader, 0, "brokers")
    topics = [
        CreatableTopic(name, -1, -1, [CreatableReplicaAssignment(0, replicas)], SETTINGS.get(name, []))
        for name, replicas in (TOPICS | OTHERS).items()
    ]
    created = ask.quietly(CreateTopicsRequest(topics, 10_000), 7)
    assert not any(topic.error_code for topic in created.topics), created
    for name in TOPICS:
        ask.learn(name)
        ask.fill(name, 10)
    behind = Ask(follower, 0, "brokers")
    for name in OTHERS:
        behind.learn(name)
    pair = Pair(leader, follower, ask.topic_ids | behind.topic_ids)
    caught_up = fetch("t", 11, -1, ask=behind)
    quiet_until(behind, lambda answer: answer.responses[0].partitions[0].high_watermark == 10, caught_up, 11)
    for each in (ask, behind):
        each.close()
    return pair


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ApacheKafka, ApacheBroker, Pykbroker]]:
    """Two brokers of Apache Kafka, and a process with two of ours."""
    # Nobody is lost because this machine stands still.
    settings = {"broker.rack": RACKS[0], **SELECTOR, "broker.session.timeout.ms": "60000"}
    first = ApacheKafka(tmp_path_factory.mktemp("first"), settings)
    second = ApacheBroker(tmp_path_factory.mktemp("second"), first, 2, {"broker.rack": RACKS[1], **SELECTOR})
    ours = Pykbroker(tmp_path_factory.mktemp("ours"), SELECTOR, brokers=2, racks=RACKS)
    try:
        for server in (first, second, ours):
            server.start()
        yield first, second, ours
    finally:
        for server in (ours, second, first):
            server.stop()


@pytest.fixture(scope="module")
def pairs(servers: tuple[ApacheKafka, ApacheBroker, Pykbroker]) -> tuple[Pair, Pair]:
    first, second, ours = servers
    return prepared(first.bootstrap, second.bootstrap), prepared(ours.addresses[1], ours.addresses[2])


@pytest.fixture(scope="module")
def left(servers: tuple[ApacheKafka, ApacheBroker, Pykbroker], pairs: tuple[Pair, Pair]) -> tuple[Pair, Pair]:
    """The pairs, with broker 2 stopped and that known to broker 1."""
    _, second, ours = servers
    second.stop()
    ours.change_broker("stop", 2)
    for pair in pairs:
        ask = pair.ask(0, leader=True)
        quiet_until(ask, lambda answer: len(answer.brokers) == 1, MetadataRequest([]), 12)
        for name in ("moves", "needs-both"):
            ask.learn(name)  # Apache Kafka's metadata name a leader a moment before it leads
        ask.close()
    return pairs


def fetch(topic: str, version: int, epoch: int, *, ask: Ask, rack: str = "", last_epoch: int = -1) -> FetchRequest:
    asked = FetchPartition(0, epoch, 0, last_epoch, -1, 1 << 20)
    named = {"topic_id": ask.topic_ids[topic]} if version >= 13 else {"topic": topic}
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        session_epoch=-1,
        topics=[FetchTopic(**named, partitions=[asked])],
        rack_id=rack if version >= 11 else "",
    )


def same(pairs: tuple[Pair, Pair], version: int, questions: Any, *, leader: bool = False) -> None:
    """Ask both; ``questions(ask)`` gives the requests."""
    seen = []
    for pair in pairs:
        ask = pair.ask(version, leader=leader)
        try:
            for question in questions(ask):
                ask(question)
        finally:
            ask.close()
        seen.append(ask.answers)
    found = [str(each) for each in divergences(*seen)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("version", range(3, 14))
def test_produce(pairs, version):
    def questions(ask: Ask) -> Iterator[ProduceRequest]:
        for topic in TOPICS:
            for acks in (1, -1):
                data = PartitionProduceData(0, encode_batch(records(0, 1)))
                named = ask.reference(topic, 13, "name")
                yield ProduceRequest(None, acks, 1000, [TopicProduceData(**named, partition_data=[data])])

    same(pairs, version, questions)


@pytest.mark.parametrize("version", range(4, 19))
@pytest.mark.parametrize("leader", [False, True])
def test_fetch(pairs, version, leader):
    def questions(ask: Ask) -> Iterator[FetchRequest]:
        for topic in TOPICS:
            for epoch in (-1, 0, 7) if version >= 9 else (-1,):
                yield fetch(topic, version, epoch, ask=ask)
        if version >= 12:
            yield fetch("t", version, 0, ask=ask, last_epoch=0)

    same(pairs, version, questions, leader=leader)


@pytest.mark.parametrize("version", range(11, 19))
@pytest.mark.parametrize("leader", [False, True])
def test_fetch_from_a_rack(pairs, version, leader):
    def questions(ask: Ask) -> Iterator[FetchRequest]:
        for topic in TOPICS:
            for rack in (*RACKS, "elsewhere"):
                yield fetch(topic, version, -1, ask=ask, rack=rack)

    same(pairs, version, questions, leader=leader)


@pytest.mark.parametrize("version", range(1, 12))
def test_list_offsets(pairs, version):
    def questions(_ask: Ask) -> Iterator[ListOffsetsRequest]:
        for topic in TOPICS:
            for replica in (-1, -2):
                for epoch in (-1, 0, 7) if version >= 4 else (-1,):
                    asked = ListOffsetsTopic(topic, [ListOffsetsPartition(0, epoch, -1)])
                    yield ListOffsetsRequest(replica, 0, [asked])

    same(pairs, version, questions)


@pytest.mark.parametrize("version", range(2, 5))
def test_offset_for_leader_epoch(pairs, version):
    def questions(_ask: Ask) -> Iterator[OffsetForLeaderEpochRequest]:
        for topic in TOPICS:
            for epoch in (-1, 0, 7):
                asked = OffsetForLeaderTopic(topic, [OffsetForLeaderPartition(0, epoch, 0)])
                yield OffsetForLeaderEpochRequest(topics=[asked])

    same(pairs, version, questions)


@pytest.mark.parametrize("version", range(3))
def test_delete_records(pairs, version):
    def questions(_ask: Ask) -> Iterator[DeleteRecordsRequest]:
        for topic in TOPICS:
            yield DeleteRecordsRequest([DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, 1)])], 1000)

    same(pairs, version, questions)


def test_describe_producers(pairs):
    same(pairs, 0, lambda _ask: [DescribeProducersRequest([TopicRequest(topic, [0])]) for topic in TOPICS])


ALL = [*TOPICS, *OTHERS]


@pytest.mark.parametrize("version", range(14))
def test_metadata_without_a_broker(left, version):
    request = MetadataRequest([MetadataRequestTopic(name=name) for name in ALL])
    same(left, version, lambda _ask: [request], leader=True)


@pytest.mark.parametrize("version", range(3))
def test_describe_cluster_without_a_broker(left, version):
    same(left, version, lambda _ask: [DescribeClusterRequest()], leader=True)


def test_describe_topic_partitions_without_a_broker(left):
    request = DescribeTopicPartitionsRequest([TopicName(name) for name in ALL])
    same(left, 0, lambda _ask: [request], leader=True)


@pytest.mark.parametrize("version", range(9, 14))
def test_produce_without_a_broker(left, version):
    def questions(ask: Ask) -> Iterator[ProduceRequest]:
        for topic in ALL:
            data = PartitionProduceData(0, encode_batch(records(0, 1)))
            named = ask.reference(topic, 13, "name")
            yield ProduceRequest(None, -1, 1000, [TopicProduceData(**named, partition_data=[data])])

    same(left, version, questions, leader=True)


@pytest.mark.parametrize("version", range(9, 19))
def test_fetch_without_a_broker(left, version):
    def questions(ask: Ask) -> Iterator[FetchRequest]:
        for topic in OTHERS:
            for epoch in (-1, 0, 1, 7):
                yield fetch(topic, version, epoch, ask=ask)

    same(left, version, questions, leader=True)
