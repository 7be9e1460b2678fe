"""What a request costs: the functions that it calls between the bytes that arrive and those that leave.

Instructions and time depend on the machine and the interpreter; calls do not, and most of a small request's cost is in them. A figure
here changes on purpose only: lower it with what made it lower, and say in the commit why it had to grow. ``scripts/bench
--instructions`` shows what a call less is worth.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from pykbroker.brokers.cluster import Cluster
from pykbroker.brokers.lifecycle import BrokerLifecycle
from pykbroker.config.broker import BrokerConfig
from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.image import Endpoint
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.runtime.clock import ManualClock
from pykbroker.storage.real_disk import RealDisk
from pykbroker.tests.kit.calls import Calls, Client, Counter
from pykbroker.tests.kit.cluster import GROUP, LISTENER, SETTINGS, START_MS
from pykbroker.wire.message import Message
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from pykbroker.wire.records import Record, encode_batch

#: Requests after which everything is imported, opened and cached.
_WARM_UP = 12
#: By how much of a figure a request may cost more, and less, before the figure must be changed.
_TOLERANCE = 0.05

#: Per kind of request, the same in CPython 3.11 to 3.13. Changed on purpose only.
COSTS = {
    "produce of one record": Calls(16, 33),
    "produce of six batches": Calls(51, 123),
    "fetch of one batch": Calls(23, 44),
    "fetch of two batches, not the newest": Calls(31, 50),
    "fetch of 200 batches, not the newest": Calls(47, 70),
    "fetch of six partitions": Calls(52, 133),
    "fetch of six partitions in a session": Calls(97, 161),
    "fetch that waits, and its produce": Calls(91, 95),
    "Metadata of one topic": Calls(22, 16),
    "ListOffsets of one partition": Calls(33, 31),
    "InitProducerId": Calls(20, 13),
    "OffsetCommit of one partition": Calls(39, 46),
    "OffsetCommit of six partitions": Calls(39, 76),
    "OffsetFetch of one partition": Calls(43, 55),
    "Heartbeat": Calls(21, 16),
    "ConsumerGroupHeartbeat": Calls(24, 24),
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("costs")
    cluster = Cluster.open(BrokerConfig(SETTINGS), folder, RealDisk(), ManualClock(START_MS), random.Random(7))
    lifecycle = BrokerLifecycle(cluster)
    lifecycle.start_all({1: [Endpoint(LISTENER, "host", 9092)]}, None)
    cluster.controller.create_topics(
        [
            NewTopic(name, parts, 1)
            for name, parts in (
                ("one", 1),
                ("newest", 1),
                ("six", 6),
                ("large", 6),
                ("session", 6),
                ("waited", 1),
                ("many", 1),
            )
        ]
    )
    Client(cluster, Dispatcher()).ask(FindCoordinatorRequest(coordinator_keys=[GROUP]), 4)
    yield cluster
    cluster.shutdown()


@pytest.fixture
def client(cluster: Cluster) -> Client:
    """A connection that has received nothing yet, so that no figure depends on the tests before."""
    return Client(cluster, Dispatcher())


Kind = Callable[[Client], Callable[[], Calls]]


def plain(client: Client, request: Message, version: int) -> Callable[[], Calls]:
    """A request that is answered in its turn."""
    frame = client.frame(request, version)

    def once() -> Calls:
        with Counter() as counter:
            client.send(frame)
        client.answer(request, version)
        return counter.calls

    return once


def produced(topic: str, partitions: int, size: int) -> ProduceRequest:
    batch = encode_batch([Record(offset=0, timestamp=START_MS, value=b"x" * size)])
    data = [PartitionProduceData(index=index, records=batch) for index in range(partitions)]
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=data)])


def fetched(topic: str, partitions: int, offset: int, max_bytes: int) -> FetchRequest:
    parts = [FetchPartition(index, fetch_offset=offset, partition_max_bytes=max_bytes) for index in range(partitions)]
    return FetchRequest(
        max_wait_ms=500, min_bytes=1, max_bytes=1 << 24, session_epoch=-1, topics=[FetchTopic(topic, partitions=parts)]
    )


def of_produce(topic: str, partitions: int, size: int) -> Kind:
    return lambda client: plain(client, produced(topic, partitions, size), 9)


def of_fetch(topic: str, partitions: int, size: int) -> Kind:
    def prepared(client: Client) -> Callable[[], Calls]:
        client.ask(produced(topic, partitions, size), 9)
        return plain(client, fetched(topic, partitions, 0, size + 500), 11)

    return prepared


def older_fetch(client: Client) -> Callable[[], Calls]:
    for _ in range(4):
        client.ask(produced("one", 1, 100), 9)
    return plain(client, fetched("one", 1, 0, 400), 11)


def fetch_of_many(client: Client) -> Callable[[], Calls]:
    for _ in range(300):
        client.ask(produced("many", 1, 1000), 9)
    return plain(client, fetched("many", 1, 0, 200_000), 11)


def session_fetch(client: Client) -> Callable[[], Calls]:
    """Of a client that asks for the same again."""
    client.ask(produced("session", 6, 16_384), 9)
    request = fetched("session", 6, 0, 16_884)
    request.session_epoch = 0
    request.session_id = client.ask(request, 12).session_id

    def once() -> Calls:
        request.session_epoch += 1
        return plain(client, request, 12)()

    return once


def waiting_fetch(client: Client) -> Callable[[], Calls]:
    """Both the fetch and the produce that ends it, on two connections."""
    request = produced("waited", 1, 100)
    frame = client.frame(request, 9)
    other = Client(client.cluster, Dispatcher())
    end = [client.ask(request, 9).responses[0].partition_responses[0].base_offset + 1]

    def once() -> Calls:
        fetch = fetched("waited", 1, end.pop(), 1 << 20)
        waiting = other.frame(fetch, 11)
        with Counter() as counter:
            other.send(waiting)
            client.turn()
            client.send(frame)
            client.turn()
        client.answer(request, 9)
        found = other.answer(fetch, 11).responses[0].partitions[0]
        assert found.records
        end.append(found.high_watermark)
        return counter.calls

    return once


def metadata(client: Client) -> Callable[[], Calls]:
    return plain(client, MetadataRequest(topics=[MetadataRequestTopic(name="one")]), 9)


def list_offsets(client: Client) -> Callable[[], Calls]:
    asked_for = [ListOffsetsPartition(partition_index=0, timestamp=-1)]
    return plain(client, ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic("one", partitions=asked_for)]), 7)


def init_producer_id(client: Client) -> Callable[[], Calls]:
    return plain(client, InitProducerIdRequest(None, 60_000, -1, -1), 4)


def offset_commit(topic: str, partitions: int) -> Kind:
    parts = [
        OffsetCommitRequestPartition(index, committed_offset=1, committed_metadata="") for index in range(partitions)
    ]
    request = OffsetCommitRequest(group_id="offsets", topics=[OffsetCommitRequestTopic(name=topic, partitions=parts)])
    return lambda client: plain(client, request, 8)


def offset_fetch(client: Client) -> Callable[[], Calls]:
    offset_commit("one", 1)(client)()
    topics = [OffsetFetchRequestTopics(name="one", partition_indexes=[0])]
    return plain(client, OffsetFetchRequest(groups=[OffsetFetchRequestGroup("offsets", topics=topics)]), 8)


def heartbeat(client: Client) -> Callable[[], Calls]:
    join = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    joined = client.ask(join, 3)
    sync = SyncGroupRequest(
        GROUP, joined.generation_id, joined.member_id, assignments=[SyncGroupRequestAssignment(joined.member_id, b"")]
    )
    client.ask(sync, 3)
    return plain(client, HeartbeatRequest(GROUP, joined.generation_id, joined.member_id), 4)


def consumer_group_heartbeat(client: Client) -> Callable[[], Calls]:
    """Of a member that has what it is to have, and has nothing to report."""
    request = ConsumerGroupHeartbeatRequest(
        group_id="consumers",
        member_id="member",
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=["six"],
        topic_partitions=[],
    )
    answer = client.ask(request, 1)
    for _ in range(3):
        request.member_epoch = answer.member_epoch
        assigned = answer.assignment.topic_partitions
        request.topic_partitions = [TopicPartitions(each.topic_id, each.partitions) for each in assigned]
        answer = client.ask(request, 1)
    assert request.topic_partitions, answer
    bare = ConsumerGroupHeartbeatRequest(group_id="consumers", member_id="member", member_epoch=answer.member_epoch)
    return plain(client, bare, 1)


KINDS: dict[str, Kind] = {
    "produce of one record": of_produce("one", 1, 100),
    "produce of six batches": of_produce("six", 6, 1000),
    "fetch of one batch": of_fetch("newest", 1, 100),
    "fetch of two batches, not the newest": older_fetch,
    "fetch of 200 batches, not the newest": fetch_of_many,
    "fetch of six partitions": of_fetch("large", 6, 16_384),
    "fetch of six partitions in a session": session_fetch,
    "fetch that waits, and its produce": waiting_fetch,
    "Metadata of one topic": metadata,
    "ListOffsets of one partition": list_offsets,
    "InitProducerId": init_producer_id,
    "OffsetCommit of one partition": offset_commit("one", 1),
    "OffsetCommit of six partitions": offset_commit("six", 6),
    "OffsetFetch of one partition": offset_fetch,
    "Heartbeat": heartbeat,
    "ConsumerGroupHeartbeat": consumer_group_heartbeat,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_costs_what_it_did(client: Client, kind: str) -> None:
    once = KINDS[kind](client)
    for _ in range(_WARM_UP):
        once()
        client.turn()  # what loading a coordinator's partition left to be done
    cost = min(once() for _ in range(3))
    recorded = COSTS[kind]
    for now, before in zip(cost, recorded, strict=True):
        assert abs(now - before) <= _TOLERANCE * before, (
            f"{kind!r} costs {cost}, and {recorded} is recorded: mend it, or record the new figure if it changed on purpose"
        )
