"""Requests of clients that are held to a quota, through the dispatcher of a cluster in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import pytest

from pykbroker.access.step import authorise
from pykbroker.controller.topics import NewTopic
from pykbroker.quotas.throttling import Throttling
from pykbroker.requests.pipeline import Place, through
from pykbroker.runtime.waits import Deferred
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.share_partitions.states import Acknowledge
from pykbroker.tests.kit.cluster import MemoryCluster, Peer
from pykbroker.tests.kit.share_groups import ShareCluster, ShareMember
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from pykbroker.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer
    from pykbroker.security.context import RequestContext

#: Versions of CreateTopics.
STRICT: Final = 7
OLD: Final = 5


class World(MemoryCluster):
    """A cluster that holds one client to quotas; what it asks comes over one connection."""

    def __init__(self, brokers: int = 1, **settings: str) -> None:
        self.peer = Peer()
        #: Of the newest request.
        self.asked_bytes = 0
        super().__init__(brokers, **settings)
        self.throttling = Throttling(self.cluster, self.dispatcher)
        self.cluster.metadata.subscribe(self.throttling.changed)

    def _hand_in(self, frame: bytearray, broker: int, peer: Peer) -> Deferred[Any]:
        del peer
        self.asked_bytes = len(frame)
        return super()._hand_in(frame, broker, self.peer)

    def limit(self, key: str, value: float | None, user: str = "ANONYMOUS") -> None:
        """For a user; None takes it away."""
        entry = AlterClientQuotasRequestEntryData([EntityData("user", user)], [OpData(key, value or 0, value is None)])
        self.ask(AlterClientQuotasRequest([entry]), 1)

    def produce(self, size: int, *, acks: int = 1, broker: int = 1) -> Any:
        """A request of about ``size`` bytes."""
        data = PartitionProduceData(0, encode_batch([Record(value=bytes(size))]))
        return self.ask(
            ProduceRequest(acks=acks, topic_data=[TopicProduceData("t", partition_data=[data])]), 9, broker=broker
        )

    def consume(self, *, session: int = 0, epoch: int = -1, max_bytes: int = 10_000_000) -> Any:
        """A fetch of the topic from its beginning; a session's later ones name no partition."""
        topics = [FetchTopic("t", partitions=[FetchPartition(0, -1, 0, -1, -1, 10_000_000)])] if epoch <= 0 else []
        request = FetchRequest(
            replica_id=-1, max_bytes=max_bytes, session_id=session, session_epoch=epoch, topics=topics
        )
        return self.ask(request, 11)

    def create_topic(self, name: str, partitions: int, version: int = STRICT) -> tuple[int, int]:
        """Its error and the throttle time."""
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        answer = self.ask(CreateTopicsRequest([topic]), version)
        return answer.topics[0].error_code, answer.throttle_time_ms


@pytest.fixture
def world() -> World:
    world = World()
    world.topic("t", 1)
    return world


def records(answer: Any) -> int:
    return sum(len(data.records or b"") for topic in answer.responses for data in topic.partitions)


def test_the_step_is_there_while_there_are_quotas(world: World) -> None:
    assert not world.dispatcher.places.fills(Place.THROTTLE)
    world.limit("producer_byte_rate", 1000)
    world.limit("consumer_byte_rate", 1000, user="other")
    assert world.dispatcher.places.fills(Place.THROTTLE)
    world.limit("producer_byte_rate", None)
    assert world.dispatcher.places.fills(Place.THROTTLE)
    world.limit("consumer_byte_rate", None, user="other")
    assert not world.dispatcher.places.fills(Place.THROTTLE)


def test_quotas_of_addresses_are_not_for_requests(world: World) -> None:
    entry = AlterClientQuotasRequestEntryData(
        [EntityData("ip", "127.0.0.1")], [OpData("connection_creation_rate", 5, remove=False)]
    )
    world.ask(AlterClientQuotasRequest([entry]), 1)
    assert world.image.client_quotas
    assert not world.dispatcher.places.fills(Place.THROTTLE)


@pytest.mark.parametrize("size", [4000, 8000])
@pytest.mark.parametrize("what", ["produce", "fetch"])
def test_over_ten_seconds_a_client_has_its_quota(what: str, size: int) -> None:
    """One that is always ready, and waits as it is told: what it has then is the broker's doing alone. In one window, for in
    more of them use comes in gusts.
    """
    world, rate = World(quota_window_num="1"), 500_000
    world.topic("t", 1)
    world.produce(size)
    world.limit("producer_byte_rate" if what == "produce" else "consumer_byte_rate", rate)
    used, now, begin = 0, 0, 2000
    while now < begin + 10_000:
        if what == "produce":
            answer, counted = world.produce(size), world.asked_bytes
        else:
            answer = world.consume()
            counted = records(answer)  # nothing, where it is told to wait
        used += counted if now >= begin else 0
        wait = max(1, answer.throttle_time_ms)
        world.advance(wait)
        now += wait
    assert used / 10 == pytest.approx(rate, rel=0.05)


def test_a_producer_above_its_quota_is_served_and_waits(world: World) -> None:
    world.limit("producer_byte_rate", 1000)
    assert world.produce(9000).throttle_time_ms == 0
    answer = world.produce(2000)
    assert answer.responses[0].partition_responses[0].error_code == 0
    assert 1000 < answer.throttle_time_ms < 1300
    assert world.peer.mutes == [answer.throttle_time_ms]
    world.advance(11_000)
    assert world.produce(100).throttle_time_ms == 0
    assert len(world.peer.mutes) == 1


def test_requests_are_weighed_with_their_headers(world: World) -> None:
    world.limit("producer_byte_rate", 100)
    batch = len(encode_batch([Record(value=bytes(1000))]))
    world.produce(1000)
    (used,) = world.throttling.brokers[1].produce.rates(0).values()
    assert batch + 20 < used * 10 < batch + 80


def test_who_wants_no_answer_waits_too(world: World) -> None:
    world.limit("producer_byte_rate", 1000)
    assert world.produce(20_000, acks=0) is None
    (mute,) = world.peer.mutes
    assert mute > 10_000


def test_others_do_not_wait(world: World) -> None:
    world.limit("producer_byte_rate", 1000, user="other")
    assert world.produce(100_000).throttle_time_ms == 0
    world.peer.principal = "User:other"
    assert world.produce(100_000).throttle_time_ms > 0


def test_brokers_count_each_for_itself() -> None:
    world = World(brokers=2)
    world.create(NewTopic("t", assignments=[(0, [1, 2])]))
    world.limit("producer_byte_rate", 1000)
    assert world.produce(11_000, broker=1).throttle_time_ms > 0
    assert set(world.throttling.brokers) == {1}
    world.limit("request_percentage", 1)
    world.ask(ApiVersionsRequest(), 0, broker=2)
    assert set(world.throttling.brokers) == {1, 2}
    assert not world.throttling.brokers[2].produce.rates(0)


def test_a_fetch_above_its_quota_is_answered_empty_and_does_not_count(world: World) -> None:
    for _ in range(12):
        world.produce(1000)
    world.limit("consumer_byte_rate", 1000)
    assert records(world.consume(max_bytes=9000)) > 8000
    refused = world.consume()
    assert (refused.responses, refused.session_id) == ([], 0)
    assert 0 < refused.throttle_time_ms == world.peer.mutes[0]
    world.advance(refused.throttle_time_ms)
    assert records(world.consume(max_bytes=1000)) > 1000


def test_a_fetch_is_cut_to_what_may_pass_at_once(world: World) -> None:
    for _ in range(30):
        world.produce(1000)
    world.limit("consumer_byte_rate", 1600)
    answer = world.consume()
    assert answer.throttle_time_ms == 0
    assert 14_000 < records(answer) < 16_000


def test_a_session_is_told_later_what_a_throttled_answer_left_out(world: World) -> None:
    world.limit("consumer_byte_rate", 20)
    opened = world.consume(epoch=0)
    assert opened.session_id > 0
    world.produce(300)
    refused = world.consume(session=opened.session_id, epoch=1)
    assert (refused.responses, refused.session_id) == ([], opened.session_id)
    assert refused.throttle_time_ms > 0
    world.advance(11_000)
    world.limit("consumer_byte_rate", None)
    answer = world.consume(session=opened.session_id, epoch=2)
    assert records(answer) > 300
    assert answer.responses[0].partitions[0].high_watermark == 1


def test_a_throttled_fetch_opens_no_session(world: World) -> None:
    world.produce(1000)
    world.limit("consumer_byte_rate", 20)
    before = len(world.cluster.brokers[1].fetch_sessions)
    refused = world.consume(epoch=0)
    assert refused.throttle_time_ms > 0
    assert refused.session_id == 0
    assert len(world.cluster.brokers[1].fetch_sessions) == before


class SharingWorld(World, ShareCluster):
    """A member of a share group that is held to quotas; ``produce`` appends a record of a size."""


def acquired(answer: Any) -> list[tuple[int, int, int]]:
    found = [each for topic in answer.responses for data in topic.partitions for each in data.acquired_records]
    return [(each.first_offset, each.last_offset, each.delivery_count) for each in found]


def test_a_share_fetch_above_its_quota_acquires_nothing() -> None:
    """Apache Kafka keeps what its answer leaves out acquired, until the lock is over, and counts that as a delivery."""
    world = SharingWorld()
    world.joined()
    for _ in range(12):
        world.produce(1000)
    world.limit("consumer_byte_rate", 1000)
    member = ShareMember(world)
    assert acquired(member.fetch(max_wait_ms=500, max_bytes=9000)) == [(0, 7, 1)]
    refused = member.fetch({0: [(0, 0, [Acknowledge.ACCEPT]), (7, 7, [Acknowledge.RELEASE])]}, max_wait_ms=500)
    assert (refused.error_code, acquired(refused), records(refused)) == (0, [], 0)
    assert [data.acknowledge_error_code for topic in refused.responses for data in topic.partitions] == [0]
    assert 0 < refused.throttle_time_ms == world.peer.mutes[-1]
    world.advance(refused.throttle_time_ms)
    again = member.fetch(max_wait_ms=500, max_bytes=2000)
    assert (acquired(again), again.throttle_time_ms) == ([(7, 7, 2)], 0)


class Slow:
    """Handlers that take their time: a step behind all others."""

    def __init__(self, world: World, ms: int) -> None:
        self._world = world
        self._ms = ms

    def __call__(self, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /) -> Answer:
        del broker, ctx, request
        self._world.clock.advance(self._ms)
        return proceed()


def test_time_counts_in_percent_of_one_thread_and_costs_a_window_at_most(world: World) -> None:
    world.limit("request_percentage", 5)
    world.dispatcher.places.fill(Place.INTERCEPT, through(Slow(world, 500)))
    answer = world.ask(ApiVersionsRequest(), 2)  # 50 of 100 in the second, 5 in each of ten are free
    assert answer.throttle_time_ms == 0
    assert 0 < world.ask(ApiVersionsRequest(), 2).throttle_time_ms <= 1000
    assert world.ask(ApiVersionsRequest(), 2).throttle_time_ms == 1000
    assert world.peer.mutes[-1] == 1000


def test_a_fetch_that_takes_too_much_time_is_answered_empty(world: World) -> None:
    world.produce(1000)
    world.limit("request_percentage", 1)
    world.dispatcher.places.fill(Place.INTERCEPT, through(Slow(world, 900)))
    opened = world.consume(epoch=0)
    assert (opened.responses, opened.session_id, opened.throttle_time_ms) == ([], 0, 1000)


def test_a_refused_request_costs_time_too_and_says_so(world: World) -> None:
    world.limit("request_percentage", 1)
    world.dispatcher.places.fill(Place.INTERCEPT, through(Slow(world, 900)))
    topics = [CreatableTopic(name="huge", num_partitions=100_000, replication_factor=1)]
    answer = world.ask(CreateTopicsRequest(topics), STRICT)
    assert answer.topics[0].error_code == ErrorCode.POLICY_VIOLATION
    assert answer.throttle_time_ms == 1000


def test_a_request_is_authorized_first_and_counted_when_it_is_refused() -> None:
    """As in Apache Kafka, where ``KafkaApis`` authorizes, and what sends the answer records it."""
    world = World(**{"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"})
    world.topic("t", 1)
    world.limit("producer_byte_rate", 1000, user="alice")
    counted_before = []

    def as_alice(_broker: Any, ctx: Any, _request: Any, proceed: Callable[[], Any]) -> Any:
        ctx.principal = "User:alice"
        return proceed()

    def seen(api_key: int, handle: Any) -> Any:
        guarded = authorise(api_key, handle)

        def authorised(*args: Any) -> Any:
            counted_before.append(len(list(world.throttling.brokers[1].produce.holders())))
            return guarded(*args)

        return authorised

    world.dispatcher.places.fill(Place.OBSERVE, through(as_alice))
    world.dispatcher.places.fill(Place.AUTHORISE, seen)
    assert world.produce(9000).throttle_time_ms == 0
    again = world.produce(9000)
    assert again.responses[0].partition_responses[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert again.throttle_time_ms > 0
    assert counted_before == [0, 1]
    assert world.partition("t", 0).log.log_end_offset == 0


def test_partitions_are_created_while_a_token_is_left_and_then_refused(world: World) -> None:
    world.limit("controller_mutation_rate", 1)
    assert world.create_topic("a", 15) == (0, 0)
    assert world.create_topic("b", 1) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, 4000)
    assert world.peer.mutes == [4000]
    assert "b" not in world.image.topics
    world.advance(4000)
    assert world.create_topic("b", 1) == (0, 0)


def test_older_versions_are_served_and_wait(world: World) -> None:
    world.limit("controller_mutation_rate", 1)
    assert world.create_topic("a", 11, OLD) == (0, 0)
    assert world.create_topic("b", 3, OLD) == (0, 3000)
    assert "b" in world.image.topics
    assert world.peer.mutes == [3000]


def test_a_request_that_the_controller_is_asked_in_parts_is_charged_for_all_of_them(world: World) -> None:
    world.limit("controller_mutation_rate", 1)
    topics = [CreatableTopic(name=f"many-{i}", num_partitions=1, replication_factor=1) for i in range(30)]
    answer = world.ask(CreateTopicsRequest(topics), OLD)
    assert ({topic.error_code for topic in answer.topics}, answer.throttle_time_ms) == ({0}, 19_000)
    assert world.peer.mutes == [19_000]


def test_a_change_that_fails_on_the_disk_is_charged_too_and_says_so(world: World) -> None:
    world.limit("controller_mutation_rate", 1)
    assert world.create_topic("a", 11, OLD) == (0, 0)
    with world.full_disk():
        assert world.create_topic("b", 3, OLD) == (ErrorCode.KAFKA_STORAGE_ERROR, 3000)
    assert world.peer.mutes == [3000]


def test_deletions_and_more_partitions_cost_as_creations_do(world: World) -> None:
    world.topic("a", 12)
    world.limit("controller_mutation_rate", 1)
    more = CreatePartitionsRequest([CreatePartitionsTopic("t", 12, None)])  # eleven more
    assert world.ask(more, 3).throttle_time_ms == 0
    deleted = world.ask(DeleteTopicsRequest([DeleteTopicState("a")]), 6)
    assert (deleted.responses[0].error_code, deleted.throttle_time_ms) == (0, 0)
    refused = world.ask(DeleteTopicsRequest([DeleteTopicState("t")]), 6)
    assert (refused.responses[0].error_code, refused.throttle_time_ms) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, 12_000)
    refused = world.ask(CreatePartitionsRequest([CreatePartitionsTopic("t", 13, None)]), 3)
    assert (refused.results[0].error_code, refused.throttle_time_ms) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, 12_000)


def test_what_is_only_asked_for_costs_too_and_what_is_wrong_does_not(world: World) -> None:
    world.limit("controller_mutation_rate", 1)
    assert world.create_topic("t", 50)[0] == ErrorCode.TOPIC_ALREADY_EXISTS
    topic = CreatableTopic(name="a", num_partitions=14, replication_factor=1)
    assert world.ask(CreateTopicsRequest([topic], validate_only=True), STRICT).throttle_time_ms == 0
    assert world.create_topic("a", 1) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, 3000)


def test_a_quota_that_is_altered_holds_at_once(world: World) -> None:
    world.limit("producer_byte_rate", 1_000_000)
    assert world.produce(20_000).throttle_time_ms == 0
    world.limit("producer_byte_rate", 1000)
    assert world.produce(1).throttle_time_ms > 9000
