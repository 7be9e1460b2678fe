"""No request holds the loop: every API with as many things as a frame holds, and its longest turn in executed lines.

Lines are counted, not time: they are the same on every machine. A turn is what the loop does between two polls: the dispatcher
with a frame, or what is due and what was left for the next turn. A new API without a row fails.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pykbroker.access.step import authorise
from pykbroker.controller.topics import NewTopic
from pykbroker.faults.fault import Fault
from pykbroker.faults.injector import Injector
from pykbroker.handlers.contract import CloseConnection
from pykbroker.handlers.table import SUPPORTED
from pykbroker.partitions.fetch_sessions import FetchSession
from pykbroker.quotas.throttling import Throttling
from pykbroker.requests.pipeline import Place, through
from pykbroker.runtime.waits import Deferred
from pykbroker.security.acl import ALLOW, Acl
from pykbroker.security.authorizer import STANDARD_AUTHORIZER, Authorizer
from pykbroker.security.context import RequestContext
from pykbroker.security.operations import ALL, READ
from pykbroker.security.resources import LITERAL, TOPIC
from pykbroker.steered.request_log import RequestLog
from pykbroker.storage.log.validate import Origin
from pykbroker.tests.kit.cluster import GROUP_KEY, TRANSACTION_KEY, MemoryCluster
from pykbroker.tests.kit.depth import of_depths
from pykbroker.tests.kit.large_requests import GROUPS, LARGE, ROWS, TOPICS, WIDE, acknowledgements, topics
from pykbroker.tests.kit.share_groups import ShareCluster, ShareMember
from pykbroker.tests.kit.transactions import Producer
from pykbroker.tests.kit.turns import MOST, Counted, in_a_thread
from pykbroker.wire.apis import APIS, ApiKey
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.message import Message
from pykbroker.wire.messages import (
    alter_client_quotas,
    consumer_group_heartbeat,
    describe_groups,
    fetch,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_groups,
    metadata,
    offset_commit,
    offset_fetch,
    share_acknowledge,
    share_fetch,
    share_group_heartbeat,
    sync_group,
)
from pykbroker.wire.records import Record, encode_batch

#: Access lists of the cluster that has them.
LISTS = 6000

#: The most bytes of memory for a byte of the request and its answer: a partition that takes four bytes in a frame is an object of
#: a hundred, with another one for its result.
MOST_MEMORY = 36

#: APIs that take more, with the reason.
MORE_MEMORY = {
    ApiKey.SHARE_GROUP_HEARTBEAT: 64,  # each partition of its topics gets its state
    ApiKey.STREAMS_GROUP_HEARTBEAT: 48,  # the topology stays with the group, and its topics are created
    ApiKey.UPDATE_FEATURES: 64,  # a request and an update for each, in tables by name, for an answer of one error
}

#: The most objects that a request leaves in cycles: a full collection of garbage, which finds them, is a long turn.
MOST_IN_CYCLES = 3000

#: APIs that leave more, with the reason.
MORE_IN_CYCLES = {
    ApiKey.UPDATE_FEATURES: 20_000,  # its updates, by a decision that begins itself again
}


@pytest.fixture(scope="module")
def world() -> Counted:
    return _cluster()


@pytest.fixture(scope="module")
def measured() -> Counted:
    """Another one: requests that were asked of the first have made members and topics there."""
    return _cluster()


@pytest.fixture(scope="module")
def faulty() -> Counted:
    """One for injected errors: a second member of a group that joins waits for the first, which does not come back."""
    return _cluster()


@pytest.fixture(scope="module")
def noting() -> Counted:
    """One with a request log."""
    made = _cluster()
    made.dispatcher.places.fill(Place.OBSERVE, through(RequestLog()))
    return made


def _cluster(groups: int = GROUPS, **settings: str) -> Counted:
    """A cluster with many topics, partitions, groups and transactional ids."""
    made = Counted(auto_create_topics_enable="false", **settings)
    made.traced = False
    made.create(NewTopic("wide", WIDE, 1))
    made.create(*(NewTopic(f"topic-{number}", 1, 1) for number in range(TOPICS)))
    made.coordinator("g", GROUP_KEY)
    made.coordinator("i", TRANSACTION_KEY)
    for number in range(groups):
        partitions = [offset_commit.OffsetCommitRequestPartition(0, 1)]
        commit = offset_commit.OffsetCommitRequestTopic(f"topic-{number % TOPICS}", partitions=partitions)
        MemoryCluster.ask(made, offset_commit.OffsetCommitRequest(f"group-{number}", topics=[commit]), 8)
        MemoryCluster.ask(made, init_producer_id.InitProducerIdRequest(f"id-{number}", 60_000), 4)
    for index in range(WIDE):
        _ = made.partition("wide", index).log  # opened once, by a thread where it exists since before the start
    made.counts = made.traced = True
    made.cluster.runtime.offload_read = made.cluster.runtime.offload = partial(in_a_thread, made.cluster.runtime)
    return made


def test_every_api_has_a_row() -> None:
    assert set(ROWS) == {api.key for api in SUPPORTED}


@pytest.mark.parametrize("key", LARGE, ids=lambda key: key.name)
def test_no_turn_is_long(world: Counted, key: ApiKey) -> None:
    gc.collect()
    gc.disable()
    try:
        assert _longest(world, key)[0] <= MOST
        assert gc.collect() <= MORE_IN_CYCLES.get(key, MOST_IN_CYCLES)
    finally:
        gc.enable()


def _longest(world: Counted, key: ApiKey) -> tuple[int, Any]:
    """The lines of the longest turn of an API, and the answer."""
    row = ROWS[key]
    assert not isinstance(row, str)
    request, version = row()
    _warm(world, request, version)
    world.longest = 0
    answer = world.post(request, version)
    for _ in range(20_000):
        if answer.done:
            break
        world.run_turn()
    assert answer.done
    assert answer.value
    return world.longest, answer.value


@pytest.mark.deep
@pytest.mark.parametrize("key", LARGE, ids=lambda key: key.name)
def test_no_request_takes_much_memory(measured: Counted, key: ApiKey, monkeypatch: pytest.MonkeyPatch) -> None:
    """The peak, over the bytes that come and go. A cluster that keeps what is committed or created counts as well."""
    world = measured
    monkeypatch.setattr(world, "traced", False)
    row = ROWS[key]
    assert not isinstance(row, str)
    request, version = row()
    _warm(world, request, version)
    frame = bytearray()
    request.encode(frame, version)
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        answer = world.post(request, version)
        for _ in range(20_000):
            if answer.done:
                break
            world.run_turn()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert answer.done
    both = len(frame) + sum(map(len, answer.value))
    assert peak - before <= 16 * 1024 + MORE_MEMORY.get(key, MOST_MEMORY) * both


@pytest.fixture(scope="module")
def denying() -> Counted:
    """A cluster with thousands of access lists, none of which allows anything."""
    made = _guarded(allows=False)
    made.counts = True
    return made


@pytest.fixture(scope="module")
def allowing() -> Counted:
    """One with as many access lists that allow all: some of names of the requests, the others of all names to other users."""
    return _guarded(allows=True)


def _guarded(*, allows: bool) -> Counted:
    made = _cluster(
        300 if allows else 0, authorizer_class_name=STANDARD_AUTHORIZER, allow_everyone_if_no_acl_found="true"
    )
    everyone = [Acl(TOPIC, name, LITERAL, "User:*", "*", ALL, ALLOW) for name in topics()[: LISTS // 3]]
    others = [Acl(TOPIC, name, LITERAL, "User:a", "*", READ, ALLOW) for name in topics()[: LISTS // 3]]
    wildcards = [Acl(TOPIC, "*", LITERAL, f"User:{number}", "*", ALL, ALLOW) for number in range(LISTS // 3)]
    for_all = [Acl(TOPIC, "*", LITERAL, "User:*", "*", ALL, ALLOW)] if allows else []
    created = made.controller.create_acls([*(everyone if allows else ()), *others, *wildcards, *for_all])
    assert not any(made.finished(created))
    broker = made.cluster.brokers[1]
    assert broker.authorizer is not None
    if not allows:
        broker.authorizer = Authorizer(now=made.clock.monotonic)
        broker.authorizer.load(made.image)
    made.dispatcher.places.fill(Place.AUTHORISE, authorise)
    return made


@pytest.mark.deep
@pytest.mark.parametrize("key", LARGE, ids=lambda key: key.name)
def test_no_turn_is_long_with_access_lists(allowing: Counted, key: ApiKey) -> None:
    assert _longest(allowing, key)[0] <= MOST


@pytest.mark.deep
@pytest.mark.parametrize("key", LARGE, ids=lambda key: key.name)
def test_no_turn_is_long_for_who_is_denied(denying: Counted, key: ApiKey) -> None:
    assert _longest(denying, key)[0] <= MOST


@pytest.mark.deep
@pytest.mark.parametrize("key", LARGE, ids=lambda key: key.name)
@pytest.mark.parametrize("fault", [{}, {"after": True}], ids=str)
def test_no_turn_is_long_under_an_injected_error(faulty: Counted, key: ApiKey, fault: dict[str, Any]) -> None:
    """Its error stands at each item that is meant, among the answers to the others."""
    injector = Injector(faulty.dispatcher, lambda: faulty.cluster)
    injector.add(Fault(APIS[key].name, error="UNKNOWN_SERVER_ERROR", **fault))
    try:
        assert _longest(faulty, key)[0] <= MOST
    finally:
        injector.clear()


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        (ApiKey.METADATA, {"leader": 7}),
        (ApiKey.METADATA, {"error": "LEADER_NOT_AVAILABLE", "topic": "*1"}),
        (ApiKey.FETCH, {"error": "NOT_LEADER_OR_FOLLOWER", "topic": "w*"}),
        (ApiKey.FETCH, {"corrupt": True, "topic": "w*"}),
        (ApiKey.PRODUCE, {"duplicate": True, "topic": "w*"}),
        (ApiKey.DESCRIBE_GROUPS, {"error": "NOT_COORDINATOR", "group": "no-group-1*"}),
    ],
    ids=str,
)
def test_no_turn_is_long_under_a_fault(world: Counted, key: ApiKey, fault: dict[str, Any]) -> None:
    injector = Injector(world.dispatcher, lambda: world.cluster)
    injector.add(Fault(APIS[key].name, **fault))
    try:
        assert _longest(world, key)[0] <= MOST
    finally:
        injector.clear()


@pytest.mark.deep(but=6)
@pytest.mark.parametrize("key", LARGE, ids=lambda key: key.name)
def test_no_turn_is_long_where_requests_are_noted(noting: Counted, key: ApiKey) -> None:
    assert _longest(noting, key)[0] <= MOST


def test_a_large_answer_leaves_once_it_is_noted() -> None:
    world, requests = MemoryCluster(), RequestLog()
    ctx = RequestContext(int(ApiKey.LIST_GROUPS), 4, 1, "c", "h", "PLAINTEXT", "User:ANONYMOUS")
    answer: Deferred[Any] = Deferred()
    sent = requests(world.broker, ctx, list_groups.ListGroupsRequest(), lambda: answer)
    assert isinstance(sent, Deferred)
    answer.complete(list_groups.ListGroupsResponse(groups=[list_groups.ListedGroup("g")] * 2_000))
    turns = 0
    while not sent.done:
        world.run_turn()
        turns += 1
    (noted,) = requests
    assert turns > 1
    assert noted.weight == 2_002


def test_errors_in_an_answer_that_is_kept_for_all_clients_are_noted() -> None:
    world, requests = MemoryCluster(2), RequestLog()
    world.create(NewTopic("t", 2, 1))
    world.dispatcher.places.fill(Place.OBSERVE, through(requests))
    world.stop_broker(2)
    request = metadata.MetadataRequest([metadata.MetadataRequestTopic(name="t")])
    for _ in range(2):
        world.ask(request, 9, broker=1)
    assert [each.error_codes for each in requests] == 2 * [{ErrorCode.LEADER_NOT_AVAILABLE}]


def test_an_answer_of_many_items_is_cut_off_in_slices(world: Counted) -> None:
    injector = Injector(world.dispatcher, lambda: world.cluster)
    injector.add(Fault("Metadata", truncate=100))
    try:
        with pytest.raises(CloseConnection):
            _longest(world, ApiKey.METADATA)
        assert world.longest <= MOST
    finally:
        injector.clear()


def _warm(world: Counted, request: Message, version: int) -> None:
    """Imports and caches of the API."""
    empty = type(request)()
    try:
        MemoryCluster.post(world, empty, version)
    except Exception:  # noqa: BLE001 - its fields may be required
        return
    world.settle()


def test_no_turn_is_long_where_topics_are_created_because_they_are_asked_for() -> None:
    """The first five hundred are; the client asks again for the others."""
    world = Counted()
    world.ask(metadata.MetadataRequest([metadata.MetadataRequestTopic(name="first")], True), 9)
    world.counts, world.longest = True, 0
    world.cluster.runtime.offload = partial(in_a_thread, world.cluster.runtime)
    missing = [metadata.MetadataRequestTopic(name=f"missing-{number}") for number in range(20_000)]
    answer = world.post(metadata.MetadataRequest(missing, True), 9)
    while not answer.done:
        world.run_turn()
    for _ in range(50):  # the topics are some changes of the metadata
        world.run_turn()
    assert len(world.image.topics) == 501
    assert world.longest <= MOST


def test_full_collections_of_garbage_are_put_off_while_a_large_request_is_worked_on() -> None:
    world = MemoryCluster()
    world.coordinator("g")
    before = gc.get_threshold()
    answer = world.post(describe_groups.DescribeGroupsRequest([f"g{number}" for number in range(20_000)]), 5)
    assert gc.get_threshold()[2] > before[2]
    while not answer.done:
        world.run_turn()
    assert gc.get_threshold() == before


def test_full_collections_are_put_off_until_the_last_of_two_brokers_is_done() -> None:
    before = gc.get_threshold()
    first, second = MemoryCluster(), MemoryCluster()
    answers = []
    for world in (first, second):
        world.coordinator("g")
        answers.append(world.post(describe_groups.DescribeGroupsRequest([f"g{n}" for n in range(20_000)]), 5))
    for world, answer, after in ((first, answers[0], 1 << 30), (second, answers[1], before[2])):
        while not answer.done:
            world.run_turn()
        assert gc.get_threshold()[2] == after
    assert gc.get_threshold() == before


@pytest.mark.parametrize("version", [8, 10])
def test_no_turn_is_long_where_a_group_has_many_offsets(version: int) -> None:
    """All are fetched, without topics that are named."""
    world = Counted()
    world.create(NewTopic("wide", 6_000, 1), NewTopic("other", 1, 1))
    world.coordinator("g")
    commits = [
        offset_commit.OffsetCommitRequestTopic(
            name, partitions=[offset_commit.OffsetCommitRequestPartition(index, 7) for index in range(count)]
        )
        for name, count in (("wide", 6_000), ("other", 1))
    ]
    _answered(world, offset_commit.OffsetCommitRequest("g", topics=commits), 8)
    everything = offset_fetch.OffsetFetchRequest(groups=[offset_fetch.OffsetFetchRequestGroup("g", topics=None)])
    (group,) = _answered(world, everything, version).groups
    ids = {(each.id if version >= 10 else each.name): len(each.partitions) for each in world.image.topics.values()}
    assert {each.topic_id if version >= 10 else each.name: len(each.partitions) for each in group.topics} == {
        key: count for key, count in ids.items() if count in (6_000, 1)
    }
    assert {each.committed_offset for topic in group.topics for each in topic.partitions} == {7}
    world.counts, world.longest = True, 0
    _answered(world, everything, version)
    assert 0 < world.longest < MOST // 2


class WideTopic(Counted):
    """A cluster with a topic of many partitions, all logs open, that are fetched in a session."""

    def __init__(self) -> None:
        super().__init__()
        self.width = of_depths(2000, 4000, 9000)
        self.create(NewTopic("wide", self.width, 1))
        for index in range(self.width):
            _ = self.partition("wide", index).log
        self.counts = True

    def fetches(self, offset: int, **fields: Any) -> Deferred[Any]:
        """Fetch all partitions, or with an offset below 0 what the session has."""
        self.longest = 0
        partitions = [fetch.FetchPartition(index, fetch_offset=offset) for index in range(self.width)]
        topics = [fetch.FetchTopic("wide", partitions=partitions)] if offset >= 0 else []
        return self.post(
            fetch.FetchRequest(max_wait_ms=10_000, min_bytes=1, max_bytes=1 << 20, topics=topics, **fields), 11
        )

    def appends(self, index: int) -> None:
        batch = bytearray(encode_batch([Record(timestamp=1_700_000_000_000, value=bytes(10))]))
        self.partition("wide", index).append(batch, now_ms=1_700_000_000_000, origin=Origin.CLIENT)

    def turns_until(self, is_over: Callable[[], bool]) -> int:
        """The longest turn since the fetch."""
        while not is_over():
            self.run_turn()
        return self.longest

    @property
    def session(self) -> FetchSession:
        (session,) = self.broker.fetch_sessions._sessions.values()
        return session

    @property
    def watched(self) -> int:
        """How many partitions are watched."""
        return sum(len(self.partition("wide", index).watchers) for index in range(self.width))


def test_no_turn_is_long_where_a_fetch_session_has_many_partitions() -> None:
    """It is opened, waits and is told of an append, answers all that has records, and drops all but two."""
    world = WideTopic()
    opened = world.fetches(0, session_epoch=0)
    is_waiting = world.turns_until(lambda: world.watched == world.width and not len(world.cluster.runtime.slices))
    assert 0 < is_waiting < MOST
    session = world.session
    assert len(session.items) == world.width
    assert not opened.done
    world.appends(world.width - 1)
    assert world.turns_until(lambda: opened.done) < MOST
    for index in range(world.width):
        world.appends(index)
    full = world.fetches(-1, session_id=session.id, session_epoch=1)
    assert world.turns_until(lambda: full.done) < MOST
    assert {item.sent_high_watermark for item in session.items.values()} == {1, 2}
    forgotten = [fetch.ForgottenTopic("wide", partitions=list(range(2, world.width)))]
    last = world.fetches(-1, session_id=session.id, session_epoch=2, forgotten_topics_data=forgotten)
    assert world.turns_until(lambda: last.done) < MOST
    assert len(session.items) == 2


def test_no_turn_is_long_where_fetch_sessions_of_many_partitions_end() -> None:
    """One gives way to another, one is closed by its client, and one by the broker."""
    world = WideTopic()
    world.appends(0)
    first = world.fetches(0, session_epoch=0)
    world.turns_until(lambda: first.done)
    session = world.session
    second = world.fetches(0, session_id=session.id, session_epoch=0)
    assert world.turns_until(lambda: second.done and world.watched == world.width) < MOST
    assert session.closed
    ended = world.fetches(-1, session_id=world.session.id, session_epoch=-1)
    assert 0 < world.watched < world.width
    assert world.turns_until(lambda: ended.done and not world.watched) < MOST
    third = world.fetches(0, session_epoch=0)
    assert world.turns_until(lambda: third.done) < MOST
    world.broker.fetch_sessions.close()
    assert 0 < world.watched < world.width
    assert world.turns_until(lambda: not world.watched) < MOST


def test_no_turn_is_long_where_a_wide_topic_is_altered() -> None:
    """Of two changes in a row the last one stands."""
    world, count = Counted(), of_depths(2000, 4000, 9000)
    world.create(NewTopic("wide", count, 1))
    logs = [world.partition("wide", index).log for index in range(count)]

    def alter(retention: str) -> Deferred[Any]:
        config = incremental_alter_configs.AlterableConfig("retention.ms", 0, retention)
        wide = incremental_alter_configs.AlterConfigsResource(2, "wide", [config])
        return world.post(incremental_alter_configs.IncrementalAlterConfigsRequest([wide]), 1)

    _ = alter("3000"), world.settle()
    world.counts, world.longest = True, 0
    first, second = alter("1000"), alter("2000")
    assert len({log.config.retention_ms for log in logs}) > 1
    while not (first.done and second.done and {log.config.retention_ms for log in logs} == {2000}):
        world.run_turn()
    assert world.longest < MOST


def test_turns_of_a_classic_group_of_many_members() -> None:
    """What a rebalance does at once grows with the members alone, and no further: some seven milliseconds for 1,500."""
    world, count = Counted(group_initial_rebalance_delay_ms="1000"), of_depths(300, 1_500, 3_000)
    world.coordinator("g")
    world.counts = True
    subscribed = join_group.JoinGroupRequestProtocol("range", b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff")
    most = 30_000 + 150 * count

    def joins(*members: str) -> list[join_group.JoinGroupResponse]:
        """What all are answered."""
        answers = [
            world.post(join_group.JoinGroupRequest("g", 30_000, 60_000, member, None, "consumer", [subscribed]), 3)
            for member in members
        ]
        world.advance(1000)
        for _ in range(20):
            world.advance(1000)
        while not all(answer.done for answer in answers):
            world.run_turn()
        return [MemoryCluster._decoded(world, int(ApiKey.JOIN_GROUP), 3, answer.value) for answer in answers]

    def syncs(members: list[join_group.JoinGroupResponse]) -> None:
        (leader,) = [each for each in members if each.members]
        assert len(leader.members) == count
        given = [sync_group.SyncGroupRequestAssignment(each.member_id, b"x" * 30) for each in members]
        answers = [
            world.post(
                sync_group.SyncGroupRequest(
                    "g", each.generation_id, each.member_id, assignments=given if each is leader else []
                ),
                3,
            )
            for each in members
        ]
        while not all(answer.done for answer in answers):
            world.run_turn()

    members = joins(*([""] * count))
    syncs(members)
    assert world.longest < most
    members = joins(*(each.member_id for each in members))
    syncs(members)
    assert world.longest < most
    leaving = [leave_group.MemberIdentity(each.member_id) for each in members]
    _answered(world, leave_group.LeaveGroupRequest("g", members=leaving), 4)
    assert world.longest < most


def test_no_turn_is_long_where_the_answer_of_a_large_session_is_throttled() -> None:
    """It is measured, and its partitions are ready again."""
    world = WideTopic()
    world.counts = False
    world.cluster.metadata.subscribe(Throttling(world.cluster, world.dispatcher).changed)
    limit = alter_client_quotas.OpData("consumer_byte_rate", 1, remove=False)
    entry = alter_client_quotas.AlterClientQuotasRequestEntryData(
        [alter_client_quotas.EntityData("user", "ANONYMOUS")], [limit]
    )
    world.ask(alter_client_quotas.AlterClientQuotasRequest([entry]), 1)
    world.appends(0)
    world.counts = True
    answer = world.fetches(0, session_epoch=0)
    assert world.turns_until(lambda: answer.done) < MOST
    assert sum(map(len, answer.value)) < world.width
    assert not len(world.broker.fetch_sessions)


@pytest.mark.parametrize("kind", ["consumer", "share"])
def test_no_turn_is_long_where_a_member_names_many_topics_that_are_not_there(kind: str) -> None:
    """As many as its record has room for: two members join with them, one names fewer, and both leave."""
    world = Counted()
    world.coordinator("g")
    names = [f"no-{number}" for number in range(60_000)]

    def beat(member: str, epoch: int, named: list[str] | None) -> None:
        request: Message
        if kind == "share":
            request = share_group_heartbeat.ShareGroupHeartbeatRequest("g", member, epoch, None, named)
        else:
            request = consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
                "g",
                member,
                epoch,
                rebalance_timeout_ms=-1 if epoch else 60_000,
                subscribed_topic_names=named,
                topic_partitions=None if epoch else [],
            )
        world.longest = 0
        _answered(world, request, 1)

    beat("first", 0, ["a"])
    world.counts = True
    for member, named in (("m", names), ("n", names), ("m", names[:30_000])):
        beat(member, 0, named)
        assert 0 < world.longest < MOST // 2
    for member in ("n", "m"):
        beat(member, -1, None)
        assert 0 < world.longest < MOST // 2


def _answered(world: MemoryCluster, request: Message, version: int) -> Any:
    answer = world.post(request, version)
    while not answer.done:
        world.run_turn()
    return answer.value


def test_no_turn_is_long_where_a_share_session_acknowledges_much() -> None:
    """The row of ShareAcknowledge has no session, and is refused as a whole."""
    world = Counted()
    world.coordinator("g")
    _answered(world, share_fetch.ShareFetchRequest("g", "m", max_records=1, batch_size=1), 2)
    world.counts, world.longest = True, 0
    request = share_acknowledge.ShareAcknowledgeRequest("g", "m", 1, topics=acknowledgements())
    _answered(world, request, 2)
    assert 0 < world.longest < MOST


class CountedShares(Counted, ShareCluster):
    """Of a share group."""


@pytest.mark.parametrize("batch_size", [1, 2000])
def test_a_share_group_reads_past_aborted_transactions_in_a_turn_that_grows_with_their_number(batch_size: int) -> None:
    few, many = (_past_aborted(count, batch_size) for count in (100, 400))
    assert few < MOST
    assert many <= 4.5 * few


def _past_aborted(count: int, batch_size: int) -> int:
    """The lines of the longest turn."""
    world = CountedShares()
    world.traced = False
    world.configure("share.isolation.level", "read_committed")
    world.joined()
    producer = Producer(world, "id").started()
    for _ in range(count):
        assert producer.send(b"") is ErrorCode.NONE
        assert producer.abort() is ErrorCode.NONE
    member = ShareMember(world)
    world.traced, world.longest = True, 0
    answer = member.fetch(max_records=2000, batch_size=batch_size)
    assert answer.responses[0].partitions[0].acquired_records
    return world.longest
