"""The coordinator's shell and its handlers, on a real cluster over a simulated disk and a clock that stands still."""

from __future__ import annotations

import struct

import pytest
from crc32c import crc32c

from pykbroker.coordination import log_replay
from pykbroker.coordination.groups.shard import GroupShard
from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.validate import Origin
from pykbroker.tests.kit.cluster import GROUP
from pykbroker.tests.kit.groups import GroupCluster
from pykbroker.wire.batch_header import CRC_AT, HEADER_SIZE
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pykbroker.wire.messages.list_groups import ListGroupsRequest
from pykbroker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from pykbroker.wire.messages.sync_group import SyncGroupRequest
from pykbroker.wire.records import Record, encode_batch


def test_the_first_question_makes_the_topic_and_is_answered():
    world = GroupCluster(offsets_topic_num_partitions="4")
    found = world.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["a", "b"]), 6, broker=1)
    assert [(c.key, c.node_id, c.host, c.port, c.error_code) for c in found.coordinators] == [
        ("a", 1, "host1", 9001, 0),
        ("b", 1, "host1", 9001, 0),
    ]
    assert len(world.cluster.metadata.image.topics[CONSUMER_OFFSETS].partitions) == 4
    assert world.cluster.metadata.image.topic_config(CONSUMER_OFFSETS)["cleanup.policy"] == "compact"


def test_coordinators_that_are_not_found():
    world = GroupCluster()
    unknown_listener = world.ask(FindCoordinatorRequest(key=GROUP), 3, broker=1, listener="OTHER")
    assert unknown_listener.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.ask(FindCoordinatorRequest(key=GROUP, key_type=9), 3, broker=1).error_code == ErrorCode.INVALID_REQUEST
    early_share = world.ask(FindCoordinatorRequest(key_type=2, coordinator_keys=["k"]), 5, broker=1)
    assert early_share.coordinators[0].error_code == ErrorCode.INVALID_REQUEST


def test_only_the_leader_of_its_partition_coordinates_a_group():
    world = GroupCluster(brokers=3)
    world.topic()
    leader = world.coordinator(GROUP)
    other = leader % 3 + 1
    assert world.join(broker=other).value.error_code == ErrorCode.NOT_COORDINATOR
    assert world.heartbeat("m", broker=other) == ErrorCode.NOT_COORDINATOR
    assert world.commit({("t", 0): 1}, broker=other) == {("t", 0): ErrorCode.NOT_COORDINATOR}
    for request, version in [
        (SyncGroupRequest(group_id=GROUP, protocol_type="consumer", protocol_name="range"), 5),
        (LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(member_id="m")]), 5),
        (OffsetDeleteRequest(group_id=GROUP), 0),
        (OffsetFetchRequest(group_id=GROUP, topics=None), 7),
    ]:
        assert world.ask(request, version, broker=other).error_code == ErrorCode.NOT_COORDINATOR, request
    described = world.ask(DescribeGroupsRequest(groups=[GROUP]), 5, broker=other)
    assert described.groups[0].error_code == ErrorCode.NOT_COORDINATOR
    deleted = world.ask(DeleteGroupsRequest(groups_names=[GROUP]), 2, broker=other)
    assert deleted.results[0].error_code == ErrorCode.NOT_COORDINATOR
    assert world.commit({("t", 0): 1}, broker=leader) == {("t", 0): ErrorCode.NONE}


def test_each_broker_lists_its_own_groups():
    world = GroupCluster(brokers=3)
    world.topic()
    names = [f"group-{i}" for i in range(12)]
    found = world.ask(FindCoordinatorRequest(coordinator_keys=names), 4, broker=2)
    for one in found.coordinators:
        world.commit({("t", 0): 1}, group=one.key, broker=one.node_id)
    listed = [group.group_id for i in (1, 2, 3) for group in world.ask(ListGroupsRequest(), 5, broker=i).groups]
    assert sorted(listed) == sorted(names)


def test_a_member_lives_by_its_heartbeats():
    world = GroupCluster()
    world.topic()
    member_id = world.member()
    for _ in range(3):
        world.advance(9_999)
        assert world.heartbeat(member_id) is ErrorCode.NONE
    world.advance(10_000)
    assert world.heartbeat(member_id) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.ask(DescribeGroupsRequest(groups=[GROUP]), 5).groups[0].group_state == "Empty"


def test_heartbeats_leave_one_timer_per_group():
    world = GroupCluster()
    world.topic()
    member_id = world.member()
    before = world.cluster.runtime.timers.next_deadline()
    for _ in range(100):
        world.clock.advance(10)
        world.heartbeat(member_id)
    assert world.cluster.runtime.timers.next_deadline() == before


@pytest.mark.parametrize("kill", [False, True])
def test_groups_and_offsets_are_there_after_a_restart(kill):
    world = GroupCluster()
    world.topic()
    member_id = world.member()
    world.commit({("t", 0): 5, ("t", 1): 6}, generation=1, member_id=member_id)
    world.restart(kill=kill)
    assert [group.group_id for group in world.ask(ListGroupsRequest(), 5).groups] == [GROUP]
    assert world.heartbeat(member_id) is ErrorCode.NONE
    assert world.committed() == {("t", 0): 5, ("t", 1): 6}
    group = world.ask(DescribeGroupsRequest(groups=[GROUP]), 5).groups[0]
    assert (group.group_state, group.protocol_data) == ("Stable", "range")
    assert group.members[0].member_assignment == b"all of it"
    assert group.members[0].client_host == "/127.0.0.1"
    world.advance(10_000)
    assert world.heartbeat(member_id) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_large_shard_loads_bit_by_bit(monkeypatch):
    monkeypatch.setattr(log_replay, "REPLAYED_AT_ONCE", 3)
    world = GroupCluster()
    world.topic()
    member_id = world.member()
    for offset in range(5):
        world.commit({("t", 0): offset}, generation=1, member_id=member_id)
    world.restart()
    request = OffsetFetchRequest(group_id=GROUP, topics=None)
    assert world.ask(request, 7).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.ask(ListGroupsRequest(), 5).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.heartbeat(member_id) is ErrorCode.NONE
    for _ in range(2):
        world.advance(0)
    assert world.committed() == {("t", 0): 4}


def test_a_topic_deleted_while_it_loads(monkeypatch):
    monkeypatch.setattr(log_replay, "REPLAYED_AT_ONCE", 1)
    world = GroupCluster()
    world.topic()
    world.commit({("t", 0): 1})
    world.commit({("t", 0): 2})
    world.restart()
    assert world.heartbeat("m") is ErrorCode.NONE
    world.delete_topic(CONSUMER_OFFSETS)
    world.advance(0)
    assert world.committed() == {}


def test_partitions_that_do_not_exist_are_refused_and_the_others_committed():
    world = GroupCluster()
    world.topic()
    assert world.commit({("t", 0): 5, ("t", 9): 5, ("nope", 0): 5}) == {
        ("t", 0): ErrorCode.NONE,
        ("t", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("nope", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert world.committed() == {("t", 0): 5}


def test_topics_by_id():
    world = GroupCluster()
    topic_id = world.topic()
    world.commit({("", 0): 5}, version=10, topic_id=topic_id)
    assert set(world.commit({("", 0): 5}, version=10, topic_id=b"?" * 16).values()) == {ErrorCode.UNKNOWN_TOPIC_ID}
    asked = [
        OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0, 1]),
        OffsetFetchRequestTopics(topic_id=b"?" * 16, partition_indexes=[0]),
    ]
    found = world.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=asked)]), 10)
    assert [
        (t.topic_id, [(p.committed_offset, p.error_code) for p in t.partitions]) for t in found.groups[0].topics
    ] == [
        (topic_id, [(5, 0), (-1, 0)]),
        (b"?" * 16, [(-1, ErrorCode.UNKNOWN_TOPIC_ID)]),
    ]
    everything = world.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=None)]), 10)
    assert [topic.topic_id for topic in everything.groups[0].topics] == [topic_id]


def test_a_deleted_topic_takes_its_offsets_along():
    world = GroupCluster()
    world.topic("t")
    world.topic("u")
    world.commit({("t", 0): 5, ("u", 0): 6})
    world.delete_topic("t")
    assert world.committed() == {("u", 0): 6}
    world.topic("t")
    world.restart()
    assert world.committed() == {("u", 0): 6}


def test_a_topic_made_again_while_nobody_looked_does_not_inherit_offsets():
    world = GroupCluster()
    world.topic("t")
    world.topic("u")
    world.commit({("t", 0): 5, ("u", 0): 6})
    world.restart()
    world.cluster.controller.delete_topics([world.cluster.metadata.image.topics["t"].id])
    world.topic("t")
    assert world.committed() == {("u", 0): 6}


def test_the_deletion_of_the_offsets_topic_sends_everybody_away():
    world = GroupCluster()
    world.topic()
    member_id = world.member()
    newcomer = world.join(version=3)
    world.delete_topic(CONSUMER_OFFSETS)
    assert newcomer.value.error_code == ErrorCode.NOT_COORDINATOR
    assert world.heartbeat(member_id, broker=1) is ErrorCode.NOT_COORDINATOR
    assert world.committed() == {}, "asking for the coordinator makes the topic anew"


def test_a_disk_that_fails_is_no_coordinator():
    world = GroupCluster()
    world.topic()
    world.commit({("t", 0): 5})
    world.disk.fail = lambda _number, name: OSError(5, "no more") if "write" in name else None
    assert world.commit({("t", 0): 6}) == {("t", 0): ErrorCode.NOT_COORDINATOR}
    world.disk.fail = None
    assert (
        world.broker.groups.ask(
            GROUP,
            GroupShard.fetch,
            OffsetFetchRequestGroup(group_id=GROUP, topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0])]),
        )
        .topics[0]
        .partitions[0]
        .committed_offset
        == 5
    )


@pytest.mark.parametrize("unread", [True, False], ids=["when it is opened", "when it is read"])
def test_a_shard_that_cannot_be_read_is_tried_again(monkeypatch, caplog, unread):
    world = GroupCluster()
    world.topic()
    world.commit({("t", 0): 5})
    leader = world.coordinator(GROUP)
    world.restart()
    partition = world.cluster.partition(CONSUMER_OFFSETS, world.broker.groups.partition_of(GROUP))

    def broken(*_args, **_options):
        if unread:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
        raise OSError(5, "no more")

    with monkeypatch.context() as patched:
        if unread:
            patched.setattr(world.cluster.logs, "open", broken)
        else:
            patched.setattr(type(partition.log), "batches", broken)
        request = OffsetFetchRequest(group_id=GROUP, topics=None)
        assert world.ask(request, 7, broker=leader).error_code == ErrorCode.NOT_COORDINATOR
    assert "cannot be loaded" in caplog.text
    world.cluster.logs.metadata_directory.offline = False
    assert world.committed() == {("t", 0): 5}


def test_a_batch_that_cannot_be_read_is_skipped_alone(caplog):
    world = GroupCluster()
    world.topic()
    world.commit({("t", 0): 5})
    partition = world.cluster.partition(CONSUMER_OFFSETS, world.broker.groups.partition_of(GROUP))
    record = Record(offset=0, timestamp=1, key=b"k", value=b"v", headers=[])
    lying = bytearray(encode_batch([record]))
    lying[HEADER_SIZE] = 0x7F  # the record's length
    struct.pack_into(">I", lying, CRC_AT, crc32c(lying[CRC_AT + 4 :]))
    partition.log.update_config(LogConfig())  # else the batch is looked into before it is appended
    partition.log.append_as_leader(lying, leader_epoch=0, now_ms=world.clock.now_ms(), origin=Origin.COORDINATOR)
    world.commit({("t", 1): 7})
    world.restart()
    assert world.committed() == {("t", 0): 5, ("t", 1): 7}
    assert "Skipping the batch at 1 of" in caplog.text


def test_offsets_expire():
    world = GroupCluster(offsets_retention_minutes="60", offsets_retention_check_interval_ms="60000")
    world.topic()
    world.commit({("t", 0): 5})
    world.advance(59 * 60_000)
    assert world.committed() == {("t", 0): 5}
    world.advance(2 * 60_000)
    assert world.committed() == {}
    assert world.ask(ListGroupsRequest(), 5).groups == []


@pytest.mark.parametrize("version", [0, 1, 2])
def test_leaving_alone_in_the_older_form(version):
    world = GroupCluster()
    world.topic()
    member_id = world.member()
    assert (
        world.ask(LeaveGroupRequest(group_id=GROUP, member_id="x"), version).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    )
    assert world.ask(LeaveGroupRequest(group_id=GROUP, member_id=member_id), version).error_code == 0
    assert world.heartbeat(member_id) is ErrorCode.UNKNOWN_MEMBER_ID


def test_group_ids_and_session_timeouts_have_bounds():
    world = GroupCluster()
    assert world.coordinator(GROUP) == 1
    assert world.join(group="").value.error_code == ErrorCode.INVALID_GROUP_ID
    assert world.join(session_ms=5_999).value.error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    assert world.join(session_ms=1_800_001).value.error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    sync = SyncGroupRequest(group_id=GROUP, generation_id=1, member_id="m")
    assert world.ask(sync, 5).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.ask(sync, 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(10))
def test_refusals_of_join_can_be_read_in_every_version(version):
    world = GroupCluster()
    assert world.coordinator(GROUP) == 1
    assert world.join("unknown", version).value.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.join("", version, session_ms=1).value.error_code == ErrorCode.INVALID_SESSION_TIMEOUT


def test_errors_of_a_group_in_the_first_version_of_offset_fetch():
    world = GroupCluster()
    request = OffsetFetchRequest(group_id=GROUP, topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])])
    found = world.ask(request, 1, broker=1)
    assert found.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR


def test_listing_filters():
    world = GroupCluster()
    world.topic()
    world.member()
    world.commit({("t", 0): 1}, group="simple")

    def listed(**filters) -> set[str]:
        return {group.group_id for group in world.ask(ListGroupsRequest(**filters), 5).groups}

    assert listed() == {GROUP, "simple"}
    assert listed(states_filter=["EMPTY"]) == {"simple"}
    assert listed(states_filter=["Stable", "nonsense"]) == {GROUP}
    assert listed(types_filter=["Classic"]) == {GROUP, "simple"}
    assert listed(types_filter=["consumer"]) == set()


def test_deleting_offsets_and_groups():
    world = GroupCluster()
    world.topic()
    world.commit({("t", 0): 1, ("t", 1): 2})
    topics = [
        OffsetDeleteRequestTopic(
            name=name, partitions=[OffsetDeleteRequestPartition(partition_index=i) for i in indexes]
        )
        for name, indexes in {"t": [0, 9], "nope": [0]}.items()
    ]
    deleted = world.ask(OffsetDeleteRequest(group_id=GROUP, topics=topics), 0)
    codes = {(t.name, p.partition_index): ErrorCode(p.error_code) for t in deleted.topics for p in t.partitions}
    assert codes == {
        ("t", 0): ErrorCode.NONE,
        ("t", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("nope", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert world.committed() == {("t", 1): 2}
    results = world.ask(DeleteGroupsRequest(groups_names=[GROUP, "nobody", GROUP]), 2).results
    assert [(result.group_id, ErrorCode(result.error_code)) for result in results] == [
        (GROUP, ErrorCode.NONE),
        ("nobody", ErrorCode.GROUP_ID_NOT_FOUND),
        (GROUP, ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    assert world.committed() == {}
    assert world.ask(DeleteGroupsRequest(groups_names=[]), 2).results == []


@pytest.mark.parametrize(("version", "code"), [(5, ErrorCode.NONE), (6, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_a_group_that_does_not_exist_is_dead(version, code):
    world = GroupCluster()
    assert world.coordinator(GROUP) == 1
    request = DescribeGroupsRequest(groups=["nobody"], include_authorized_operations=True)
    described = world.ask(request, version).groups[0]
    assert (described.group_state, described.error_code) == ("Dead", code)
    assert (described.authorized_operations == 3400) == (version == 5)
