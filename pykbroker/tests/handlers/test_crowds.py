"""No turn of the loop is long where there is much of something: offsets of a group, groups, members, partitions, batches, sessions.

``test_longest_turn.py`` has requests that name much; here a small request, or none, has much to do. Executed lines are counted.
"""

from __future__ import annotations

import logging
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from pykbroker.controller.commits import MANY
from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.tests.kit.cluster import MemoryCluster, Peer
from pykbroker.tests.kit.groups import SUBSCRIBED_TO_T
from pykbroker.tests.kit.metadata import alter
from pykbroker.tests.kit.share_groups import SHARE_GROUP, ShareCluster, ShareMember
from pykbroker.tests.kit.turns import MOST, Counted, in_a_thread
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from pykbroker.wire.message import Message
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from pykbroker.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.elect_leaders import ElectLeadersRequest
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pykbroker.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from pykbroker.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Subtopology, Topology
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

#: Turns in which anything ends.
TURNS = 2000


def begin(world: Counted) -> None:
    """Count from now on."""
    world.counts = world.traced = True
    world.longest = world.executed = 0
    world.cluster.runtime.offload_read = world.cluster.runtime.offload = partial(in_a_thread, world.cluster.runtime)


def quiet(world: Counted) -> Counted:
    """A cluster that is made ready: nothing is counted yet."""
    world.traced = False
    return world


def run(world: Counted, turns: int = 50) -> None:
    """Turns in which what was begun ends."""
    for _ in range(turns):
        world.run_turn()


def answered(world: Counted, request: Message, version: int) -> Any:
    """The answer, after as many turns as it takes, and some more."""
    waiting = world.post(request, version)
    for _ in range(TURNS):
        if waiting.done:
            break
        world.run_turn()
    run(world)
    assert waiting.done
    return waiting.value


def commit(world: Counted, group: str, count: int) -> None:
    """Offsets of the topic ``wide``."""
    partitions = [OffsetCommitRequestPartition(index, 7) for index in range(count)]
    answered(world, OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic("wide", partitions=partitions)]), 8)


def with_offsets(count: int, *, batch: int = 1_000_000) -> Counted:
    """A cluster with a group that has so many offsets, whose coordinator has batches of so many bytes."""
    world = quiet(Counted(auto_create_topics_enable="false"))
    world.create(NewTopic("wide", count, 1))
    world.coordinator("g")
    alter(world.controller, TOPIC_RESOURCE, "__consumer_offsets", max_message_bytes=str(batch))
    commit(world, "g", count)
    return world


#: As much as is left of the offsets of a group is more than this.
SMALL_BATCH = 20_000
whole_or_in_parts = pytest.mark.parametrize("batch", [1_000_000, SMALL_BATCH], ids=["whole", "in parts"])


@whole_or_in_parts
def test_a_group_of_many_offsets_is_deleted(batch: int) -> None:
    world = with_offsets(3000, batch=batch)
    begin(world)
    answered(world, DeleteGroupsRequest(["g"]), 2)
    assert world.longest <= MOST
    world.counts = False
    assert world.committed("g") == {}
    assert answered(world, DeleteGroupsRequest(["g"]), 2).results[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_topics_that_no_group_has_offsets_of_are_deleted_beside_many_groups() -> None:
    """Topics times groups would be 90,000 looks, which others wait for however short each turn is."""
    world = quiet(Counted(auto_create_topics_enable="false"))
    names = [f"topic-{number}" for number in range(300)]
    world.create(NewTopic("wide", 1, 1), *(NewTopic(name, 1, 1) for name in names))
    world.coordinator("g")
    for number in range(300):
        commit(world, f"group-{number}", 1)
    begin(world)
    answered(world, DeleteTopicsRequest(topic_names=names), 5)
    assert world.image.topics.keys() == {"wide", "__consumer_offsets"}
    assert world.longest <= MOST
    assert world.executed <= 1000 * len(names)
    world.counts = False
    assert world.committed("group-299") == {("wide", 0): 7}


def deleting(world: Counted) -> Any:
    """A deletion of the group that is under way, and the wait for its answer."""
    waiting = world.post(DeleteGroupsRequest(["g"]), 2)
    run(world, 2)
    assert not waiting.done
    return waiting


def visible(world: Counted) -> Any:
    """The offsets of the group that readers see; a request for so many takes turns, too."""
    shards = world.broker.groups.shards.loaded.values()
    return next((each.shard.committed.visible("g")["wide"] for each in shards if each.shard.committed.visible("g")), {})


@whole_or_in_parts
def test_nobody_sees_a_part_of_the_offsets_of_a_group_that_is_being_deleted(batch: int) -> None:
    world = with_offsets(3000, batch=batch)
    waiting = deleting(world)
    seen = []
    while not waiting.done:
        seen.append(len(visible(world)))
        world.run_turn()
    assert set(seen) <= {3000, 0}
    assert waiting.value.results[0].error_code == ErrorCode.NONE
    assert world.committed("g") == {}


def test_a_group_that_is_deleted_is_there_as_a_whole_or_not_at_all_after_a_kill() -> None:
    """Where one batch holds the tombstones of all that it has, as in Apache Kafka."""
    found = set()
    for turns in range(10):
        world = with_offsets(100)
        world.cluster.runtime.slices.weight_of_a_turn = 20
        waiting = world.post(DeleteGroupsRequest(["g"]), 2)
        run(world, turns)
        answered_by_then = waiting.done
        world.restart(kill=True)
        left = len(world.committed("g"))
        (described,) = world.ask(DescribeGroupsRequest(["g"]), 6).groups
        assert (described.error_code == ErrorCode.NONE) is (left > 0)
        found.add((left, answered_by_then))
    assert found == {(100, False), (0, True)}


@whole_or_in_parts
def test_what_is_committed_while_a_group_is_being_deleted_is_removed_with_it(batch: int) -> None:
    world = with_offsets(3000, batch=batch)
    waiting = deleting(world)
    world.post(
        OffsetCommitRequest(
            "g", topics=[OffsetCommitRequestTopic("wide", partitions=[OffsetCommitRequestPartition(5, 9)])]
        ),
        8,
    )
    assert visible(world)[5].offset == 9
    run(world)
    assert waiting.value.results[0].error_code == ErrorCode.NONE
    assert world.committed("g") == {}


def test_a_group_that_members_join_before_it_is_deleted_has_its_offsets() -> None:
    world = with_offsets(3000)
    waiting = deleting(world)
    joined = world.post(join("g"), 3)
    run(world)
    assert joined.value.error_code == ErrorCode.NONE
    assert waiting.value.results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    assert len(world.committed("g")) == 3000


def test_a_group_that_members_join_while_it_is_being_deleted_in_parts_begins_anew() -> None:
    world = with_offsets(3000, batch=SMALL_BATCH)
    waiting = deleting(world)
    while len(visible(world)) == 3000:
        world.run_turn()
    joined = world.post(join("g"), 3)
    run(world)
    assert joined.value.error_code == ErrorCode.NONE
    assert waiting.value.results[0].error_code == ErrorCode.NONE
    assert world.committed("g") == {}


@whole_or_in_parts
def test_offsets_of_a_group_that_could_not_be_deleted_are_seen_again(batch: int) -> None:
    world = with_offsets(3000, batch=batch)
    waiting = deleting(world)
    with world.full_disk():
        run(world)
    assert waiting.value.results[0].error_code == ErrorCode.NOT_COORDINATOR
    left = world.committed("g")
    assert 0 < len(left) < 3000 if batch == SMALL_BATCH else len(left) == 3000


def join(group: str) -> JoinGroupRequest:
    return JoinGroupRequest(group, 60_000, 60_000, "", None, "connect", [JoinGroupRequestProtocol("p", b"")])


def test_the_members_of_a_classic_group_join_and_are_assigned_in_lines_that_grow_with_them() -> None:
    """A generation begins at once, and its assignment is one record: 83 lines for each member that joins, 200 for each that is assigned
    something, so 11 ms for 1,500. Apache Kafka does each in one event of the thread of the group's partition. Answers go in slices.
    """
    world = quiet(Counted())
    world.create(NewTopic("t", 3, 1))
    world.coordinator("g")
    first = MemoryCluster.post(world, consumer_join(""), 3)
    world.advance(0)  # the initial delay
    leader = first.value.member_id
    waiting = [MemoryCluster.post(world, consumer_join(""), 3) for _ in range(MEMBERS - 1)]
    begin(world)
    waiting.append(world.post(consumer_join(leader), 3))
    run(world, 20)
    assert all(each.done for each in waiting)
    assert MEMBERS * 60 < world.longest <= MEMBERS * 90
    group = next(
        each.shard.groups["g"] for each in world.broker.groups.shards.loaded.values() if "g" in each.shard.groups
    )
    ids = [member.member_id for member in group.members]
    world.counts = world.traced = False
    waiting = [MemoryCluster.post(world, SyncGroupRequest("g", 2, each), 3) for each in ids if each != leader]
    begin(world)
    assigned = [SyncGroupRequestAssignment(each, b"x" * 20) for each in ids]
    waiting.append(world.post(SyncGroupRequest("g", 2, leader, assignments=assigned), 3))
    run(world, 20)
    assert all(each.done for each in waiting)
    assert world.longest <= MEMBERS * 215


#: Of a classic group.
MEMBERS = 400


def consumer_join(member_id: str) -> JoinGroupRequest:
    return JoinGroupRequest(
        "g", 60_000, 60_000, member_id, None, "consumer", [JoinGroupRequestProtocol("range", SUBSCRIBED_TO_T)]
    )


@pytest.mark.deep
def test_a_coordinator_of_many_groups_moves() -> None:
    """All members that wait there are answered: here one of each group for its rebalance."""
    world = quiet(Counted(brokers=2, offsets_topic_num_partitions="1", offsets_topic_replication_factor="2"))
    broker = world.coordinator("g")
    for _ in range(2):
        waiting = [MemoryCluster.post(world, join(f"g{number}"), 3, broker=broker) for number in range(1800)]
        world.settle()
    assert not any(each.done for each in waiting)
    begin(world)
    with world.turn():
        world.controller.move_leader("__consumer_offsets", 0, 3 - broker)
    run(world, 60)
    assert all(each.done for each in waiting)
    assert world.longest <= 2.5 * MOST  # the replies of one turn, and what its new coordinator loads in it


class CountedShares(Counted, ShareCluster):
    """Of a share group."""


def test_many_share_sessions_of_one_connection_end() -> None:
    """What each member has acquired, of each partition, is released."""
    world = quiet(CountedShares(partitions=100))
    world.joined()
    peer = Peer()
    members = [ShareMember(world, f"m{number}", partitions=100) for number in range(30)]
    for member in members:
        member.peer = peer
        world.produce(1, len(member.name))
        member.fetch()
    manager = world.broker.share_partitions
    assert len(manager.sessions) == 30
    begin(world)
    with world.turn():
        peer.lose()
    run(world)
    assert len(manager.sessions) == 0
    assert world.longest <= MOST
    assert not manager.led_of(SHARE_GROUP)


def test_a_share_session_of_many_partitions_is_refused() -> None:
    """Of which topics need not even exist."""
    world = quiet(CountedShares())
    world.joined()
    named = [FetchPartition(index) for index in range(25_000)]
    request = ShareFetchRequest(SHARE_GROUP, "m", max_records=1, batch_size=1, topics=[FetchTopic(bytes(16), named)])
    assert answered(world, request, 2).error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert len(world.broker.share_partitions.sessions) == 0
    del named[20_000:]
    answer = answered(world, request, 2)
    assert len(answer.responses[0].partitions) == 20_000
    assert len(world.broker.share_partitions.sessions) == 1


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_a_share_group_reads_many_small_batches(isolation: str) -> None:
    """One acquisition looks at a bounded number of them."""
    world = quiet(CountedShares())
    world.configure("share.isolation.level", isolation)
    world.joined()
    for _ in range(3000):
        world.produce(1)
    member = ShareMember(world)
    begin(world)
    world.counts = False  # the answer is read: its lines are counted, too
    answer = member.fetch(max_records=2000, batch_size=1)
    assert len(answer.responses[0].partitions[0].acquired_records) == 500
    assert world.longest <= MOST


def test_many_preferred_leaders_are_elected() -> None:
    world = quiet(Counted(brokers=2))
    world.create(NewTopic("wide", 3000, 2))
    world.stop_broker(2)
    world.lifecycle.start(2)
    run(world, 60)
    begin(world)
    with world.turn():
        elected = world.controller.elect_preferred_leaders()
    run(world, 20)
    assert elected.done
    assert {each.leader == each.replicas[0] for each in world.image.topics["wide"].partitions.values()} == {True}
    assert world.longest <= MOST


#: Kafka creates at most ten thousand partitions by one request.
WIDE = 6000


def wide() -> Counted:
    """Two brokers, and a topic of many partitions that have copies on both."""
    world = quiet(Counted(brokers=2))
    world.create(NewTopic("wide", WIDE, 2))
    run(world, 60)
    assert len(world.image.topics["wide"].partitions) == WIDE
    return world


def test_many_partitions_are_created_and_deleted() -> None:
    """In every turn all of them are there or none, for who asks the image and for who asks a partition."""
    world = quiet(Counted())
    world.create(NewTopic("first", 1, 1))
    begin(world)
    created = world.post(CreateTopicsRequest([CreatableTopic("wide", WIDE, 1)], 1000), 7)
    seen = set()
    for _ in range(TURNS):
        seen.add(_seen(world))
        if created.done:
            break
        world.run_turn()
    deleted = world.post(DeleteTopicsRequest(topic_names=["wide"]), 5)
    run(world)
    assert deleted.done
    assert seen == {(0, False, False), (WIDE, True, True)}
    assert _seen(world) == (0, False, False)
    assert world.longest <= MOST


def _seen(world: Counted) -> tuple[int, bool, bool]:
    topic = world.image.topics.get("wide")
    by_name = world.cluster.store.table.by_name
    return 0 if topic is None else len(topic.partitions), ("wide", 0) in by_name, ("wide", WIDE - 1) in by_name


def test_more_partitions_are_added_to_a_topic_of_many() -> None:
    world = wide()
    begin(world)
    answered(world, CreatePartitionsRequest([CreatePartitionsTopic("wide", WIDE + 3000, None)], 1000), 3)
    assert world.longest <= MOST
    assert sum(topic == "wide" for topic, _ in world.cluster.store.table.by_name) == WIDE + 3000


@pytest.mark.deep
def test_a_broker_of_many_partitions_stops_and_starts_and_leads_again() -> None:
    """Others lead some hundred partitions after the other."""
    world = wide()
    led = sum(each.leader == 2 for each in world.image.topics["wide"].partitions.values())
    begin(world)
    with world.turn():
        world.lifecycle.begin_stop(2)
    assert _are_gradual(_led_by_second(world), led, 0)
    with world.turn():
        world.lifecycle.stop(2)
    run(world, 60)
    with world.turn():
        world.lifecycle.start(2)
    run(world, 60)
    answer = world.post(ElectLeadersRequest(0, None, 1000), 2)
    assert _are_gradual(_led_by_second(world), 0, led)
    assert answer.done
    answered(world, ElectLeadersRequest(0, None, 1000), 2)  # none is needed
    assert world.longest <= MOST


@pytest.mark.deep
def test_a_broker_with_many_copies_of_its_own_stops_and_starts() -> None:
    """Its changes are planned in slices and seen some hundred at a time, and what others fetch and ask for then is no more."""
    world = quiet(Counted(brokers=2, own_stores=True))
    world.create(NewTopic("wide", 1500, 2))
    run(world, 200)
    begin(world)
    with world.turn():
        world.lifecycle.begin_stop(2)
    run(world, 60)
    assert _led_by_second(world) == [0]
    with world.turn():
        world.lifecycle.stop(2)
    run(world, 60)
    with world.turn():
        started = world.lifecycle.start(2)
    run(world, 200)
    assert started.done
    assert {len(each.isr) for each in world.image.topics["wide"].partitions.values()} == {2}
    assert world.longest <= 3 * MOST


def _led_by_second(world: Counted) -> list[int]:
    """How many partitions broker 2 leads, from turn to turn, as long as that changes: what the image says, and what their partition does."""
    seen: list[int] = []
    for _ in range(100):
        topic = world.image.topics["wide"]
        led = {each.index for each in topic.in_order() if each.leader == 2}
        assert led == {index for index in range(len(topic.partitions)) if world.partition("wide", index).leader == 2}
        if not seen or len(led) != seen[-1]:
            seen.append(len(led))
        world.run_turn()
    return seen


def _are_gradual(seen: list[int], first: int, last: int) -> bool:
    """Whether they go from one number to the other, by no more at once than is published at once."""
    return (seen[0], seen[-1]) == (first, last) and max(abs(after - before) for before, after in pairwise(seen)) <= MANY


def test_a_process_ends_while_many_partitions_are_being_created() -> None:
    """What is in the log is published before the end, and what is not yet never is."""
    outcomes = set()
    for turns in range(12):
        world = quiet(Counted())
        world.create(NewTopic("first", 1, 1))
        world.cluster.runtime.offload = partial(in_a_thread, world.cluster.runtime)
        begun = world.controller.log.end_offset
        waiting = world.post(CreateTopicsRequest([CreatableTopic("wide", 300, 1)], 1000), 7)
        run(world, turns)
        written = world.controller.log.end_offset - begun
        world.controller.stop_brokers()
        assert _seen(world)[0] == max(written - 1, 0)
        outcomes.add((written, waiting.done))
        end = world.controller.log.end_offset
        run(world)
        assert world.controller.log.end_offset == end
    assert outcomes == {(0, False), (301, False), (301, True)}


def test_a_share_group_of_many_partitions_is_assigned_in_time_that_grows_with_them() -> None:
    few, many = (_assigned(partitions) for partitions in (100, 500))
    assert many <= 6 * few


def _assigned(partitions: int) -> int:
    """The lines of the heartbeat with which the last of as many members as a tenth of the partitions joins."""
    world = quiet(CountedShares(partitions=partitions))
    world.joined()
    for number in range(partitions // 10):
        world.heartbeat(f"m{number}", 0, ["t"])
    world.advance(20_000)  # no target is computed more often than the interval allows
    begin(world)
    answered(world, ShareGroupHeartbeatRequest(SHARE_GROUP, "last", 0, None, ["t"]), 1)
    return world.longest


def test_a_setting_of_the_broker_is_applied_to_many_topics() -> None:
    world = quiet(Counted())
    names = [f"topic-{number}" for number in range(700)]
    world.create(*(NewTopic(name, 1, 1) for name in names))
    logs = [world.partition(name).log for name in names]
    begin(world)
    setting = AlterableConfig("log.retention.ms", 0, "123456")
    answered(world, IncrementalAlterConfigsRequest([AlterConfigsResource(4, "", [setting])]), 1)
    assert {log.config.retention_ms for log in logs} == {123_456}
    assert world.longest <= MOST


@pytest.mark.parametrize("kind", ["consumer", "share", "streams", "subtopologies"])
@pytest.mark.deep(but=1)
def test_a_member_that_names_more_than_a_record_may_have_is_refused_before_they_are_worked_on(kind: str) -> None:
    """A frame may have a hundred megabytes of them, and the work on all is one turn. What fits is accepted."""
    found = []
    for count in (20, 40_000):
        world = quiet(Counted(auto_create_topics_enable="false"))
        world.coordinator("g")
        alter(world.controller, TOPIC_RESOURCE, "__consumer_offsets", max_message_bytes="100000")
        request = _naming(kind, [f"t-{number}" for number in range(count)])
        begin(world)
        world.counts = False  # the answer is read
        found.append(answered(world, request, 1).error_code)
        assert world.longest <= 1.3 * MOST  # to decode empty ones takes the most
    assert [each == ErrorCode.UNKNOWN_SERVER_ERROR for each in found] == [False, True]


def _naming(kind: str, names: list[str]) -> Message:
    if kind == "consumer":
        return ConsumerGroupHeartbeatRequest("g", "m", 0, rebalance_timeout_ms=1000, subscribed_topic_names=names, topic_partitions=[])  # fmt: skip
    if kind == "share":
        return ShareGroupHeartbeatRequest("g", "m", 0, None, names)
    of_each = [Subtopology(name) for name in names] if kind == "subtopologies" else [Subtopology("0", names)]
    return StreamsGroupHeartbeatRequest(
        "g", "m", rebalance_timeout_ms=1000, topology=Topology(0, of_each), active_tasks=[], standby_tasks=[], warmup_tasks=[], process_id="p"
    )  # fmt: skip


@pytest.mark.parametrize(("subtopologies", "partitions"), [(3000, 1), (1, 6000)])
@pytest.mark.deep(but=1)
def test_a_member_of_a_streams_group_has_thousands_of_tasks(
    caplog: pytest.LogCaptureFixture, subtopologies: int, partitions: int
) -> None:
    """It is assigned them, leaves for now, and another takes its place: each time all of them are in one record, which a thread encodes
    before the step is decided again.
    """
    caplog.set_level(logging.INFO, "pykbroker.coordination.groups.streams")
    delays = {"group_streams_initial_rebalance_delay_ms": "0", "group_streams_assignment_interval_ms": "0"}
    world = quiet(Counted(auto_create_topics_enable="false", **delays))
    names = [f"t-{number}" for number in range(subtopologies)]
    world.create(*(NewTopic(name, partitions, 1) for name in names))
    world.coordinator("g")
    topology = Topology(0, [Subtopology(name, [name]) for name in names])
    said = {
        "rebalance_timeout_ms": 1000,
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
        "process_id": "p",
    }
    joins = partial(StreamsGroupHeartbeatRequest, "g", instance_id="i", topology=topology, **said)

    def member(name: str) -> Any:
        shards = [each.shard for each in world.broker.groups.shards.loaded.values()]
        (group,) = (shard.groups["g"] for shard in shards if "g" in shard.groups)
        return group.members[name]

    begin(world)
    answered(world, joins(member_id="m"), 1)
    answered(world, StreamsGroupHeartbeatRequest("g", "m", member("m").epoch, instance_id="i"), 1)
    assert len(member("m").assigned.active) == subtopologies * partitions
    answered(world, StreamsGroupHeartbeatRequest("g", "m", -2, instance_id="i"), 1)
    answered(world, joins(member_id="n"), 1)
    assert len(member("n").assigned.active) == subtopologies * partitions
    assert [each.rpartition(" ")[2] for each in caplog.messages if "joins as" in each] == ["m", "n"]
    assert world.longest <= MOST
    assigned = member("n").assigned
    quiet(world).restart()
    world.counts = False
    answered(world, StreamsGroupDescribeRequest(["g"]), 1)  # its coordinator loads meanwhile
    assert member("n").assigned == assigned


def test_a_member_that_offers_more_protocols_than_any_client_is_refused() -> None:
    """Those of all members are compared in one turn: 300,000 of one took a second. Apache Kafka has no limit."""
    world = Counted()
    world.coordinator("g")
    world.traced = False
    found = []
    for count in (100, 101):
        protocols = [JoinGroupRequestProtocol(f"p{number}", b"") for number in range(count)]
        request = JoinGroupRequest(f"g{count}", 60_000, 60_000, "", None, "connect", protocols)
        found.append(answered(world, request, 4).error_code)
    assert found == [ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.INCONSISTENT_GROUP_PROTOCOL]


def test_a_member_reports_more_partitions_than_there_are() -> None:
    """As many as a frame holds, of a topic or of many, again and again."""
    world = quiet(Counted())
    world.create(NewTopic("t", 3, 1))
    topic = world.image.topics["t"]
    world.coordinator("g")
    joins = ConsumerGroupHeartbeatRequest("g", "m", 0, rebalance_timeout_ms=1000, subscribed_topic_names=["t"], topic_partitions=[])  # fmt: skip
    joined = answered(world, joins, 1)
    assert joined.assignment.topic_partitions[0].partitions == [0, 1, 2]
    reports = [
        TopicPartitions(topic.id, list(range(150_000))),
        *(TopicPartitions(topic.id, [1]) for _ in range(10_000)),
    ]
    request = ConsumerGroupHeartbeatRequest("g", "m", joined.member_epoch, topic_partitions=reports)
    begin(world)
    world.counts = False  # the answer is read
    assert answered(world, request, 1).error_code == ErrorCode.NONE
    assert world.longest <= MOST


@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_a_classic_member_subscribes_to_more_topics_than_are_read_in_a_turn(kind: str) -> None:
    """Apache Kafka reads them all, before it finds that no record has room for them."""
    world = quiet(Counted(group_initial_rebalance_delay_ms="0"))
    world.create(NewTopic("t", 3, 1))
    world.coordinator("g")
    if kind == "consumer":
        joins = ConsumerGroupHeartbeatRequest("g", "m", 0, rebalance_timeout_ms=1000, subscribed_topic_names=["t"], topic_partitions=[])  # fmt: skip
        assert answered(world, joins, 1).error_code == ErrorCode.NONE
    subscription = bytearray(b"\0\0")
    ConsumerProtocolSubscription([f"t-{number}" for number in range(120_000)]).encode(subscription, 0)
    protocols = [JoinGroupRequestProtocol("range", bytes(subscription))]
    begin(world)
    world.counts = False  # the answer is read
    waiting = world.post(JoinGroupRequest("g", 60_000, 60_000, "", None, "consumer", protocols), 3)
    with world.turn():
        MemoryCluster.advance(world, 1)
    run(world)
    expected = ErrorCode.NONE if kind == "classic" else ErrorCode.UNKNOWN_SERVER_ERROR
    assert waiting.value.error_code == expected
    assert world.longest <= MOST


def test_a_refusal_that_names_long_texts_of_a_stranger_has_room_in_its_answer() -> None:
    """Of 20,000 characters each: together they are more than a string of Kafka's protocol has."""
    world = MemoryCluster()
    group, member = "g" * 20_000, "m" * 20_000
    world.coordinator(group)
    joins = ConsumerGroupHeartbeatRequest(group, "m", 0, rebalance_timeout_ms=1000, subscribed_topic_names=["t"], topic_partitions=[])  # fmt: skip
    assert world.ask(joins, 1).error_code == ErrorCode.NONE
    refused = world.ask(ConsumerGroupHeartbeatRequest(group, member, 5), 1)
    assert refused.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert refused.error_message.startswith(f"Member {member} is not")
