"""Share groups (KIP-932): membership, fetching, acknowledgements, offsets, and the share coordinator's requests."""

from __future__ import annotations

import time
from itertools import product
from typing import Any

from compat_tests.oracle.cases import case
from compat_tests.oracle.cases.consumer_groups import configure, joins
from compat_tests.oracle.cases.streams_groups import enters, joins_classically, reads
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from pykbroker.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from pykbroker.wire.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from pykbroker.wire.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from pykbroker.wire.messages.share_group_describe import ShareGroupDescribeRequest
from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pykbroker.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from pykbroker.wire.primitives import uuid_to_str

BEAT, FETCH, ACKNOWLEDGE, OFFSETS = 1, 2, 2, 1
"""Versions of what a case asks besides the API it is about."""

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4


def beats(group: str, member: str, epoch: int, topics: list[str] | None = None) -> ShareGroupHeartbeatRequest:
    return ShareGroupHeartbeatRequest(group, member, epoch, None, topics)


def new_group(ask: Ask, what: str = "group") -> str:
    """A group that begins at the start of its topics, and is assigned at once."""
    name = ask.name(what)
    configure(ask, name, "share.auto.offset.reset", "earliest")
    configure(ask, name, "share.assignment.interval.ms", "0")
    return name


def joined(ask: Ask, group: str, topic: str, member: str = "member") -> int:
    """A member that is assigned its partitions; its epoch. Quiet."""
    answer = ask.quietly(beats(group, member, 0, [topic]), BEAT)
    deadline = time.monotonic() + 20
    while not (answer.assignment and answer.assignment.topic_partitions):
        assert answer.error_code == 0, answer
        assert time.monotonic() < deadline, answer
        time.sleep(0.02)
        answer = ask.quietly(beats(group, member, answer.member_epoch, [topic]), BEAT)
    return int(answer.member_epoch)


def fetches(ask: Ask, group: str, topic: str, epoch: int, member: str = "member", **options: Any) -> ShareFetchRequest:
    named = [FetchTopic(ask.topic_ids[topic], [FetchPartition(0)])] if epoch == 0 else []
    settings = {
        "max_wait_ms": 500,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "max_records": 500,
        "batch_size": 500,
        **options,
    }
    return ShareFetchRequest(group, member, epoch, topics=named, **settings)


def acknowledges(
    ask: Ask, group: str, topic: str, epoch: int, *batches: tuple[int, int, list[int]], member: str = "member"
) -> ShareAcknowledgeRequest:
    said = [AcknowledgementBatch(*batch) for batch in batches]
    return ShareAcknowledgeRequest(
        group, member, epoch, topics=[AcknowledgeTopic(ask.topic_ids[topic], [AcknowledgePartition(0, said)])]
    )


def asks(ask: Ask, request: Any, version: int | None = None) -> None:
    """Asks on the connection that the share session belongs to, and keeps the answer."""
    ask.keep(ask.quietly(request, ask.version if version is None else version))


def acquired(ask: Ask, group: str, topic: str, version: int = FETCH) -> None:
    """The first fetch of a session, which acquires what there is; quiet."""
    answer = ask.quietly(fetches(ask, group, topic, 0), version)
    assert answer.error_code == 0, answer


def read(ask: Ask, count: int = 10) -> tuple[str, str]:
    """A topic with records, and a group with a member that reads it."""
    topic = ask.topic()
    ask.fill(topic, count)
    group = new_group(ask)
    joined(ask, group, topic)
    return group, topic


# ---- membership


@case(ApiKey.SHARE_GROUP_HEARTBEAT)
def heartbeats_refused(ask: Ask) -> None:
    topic, group = ask.topic(), new_group(ask)
    ask(beats(group, "", 0, [topic]))
    ask(beats("", "member", 0, [topic]))
    ask(beats(group, "member", 0))
    ask(beats(group, "member", 0, []))
    ask(beats(group, "member", -2, [topic]))
    ask(beats(group, "member", 1))
    ask(beats(group, "member", -1))
    epoch = joined(ask, group, topic)
    ask(beats(group, "member", epoch + 1))
    ask(beats(group, "member", epoch - 2))
    ask(beats(group, "stranger", 1))
    ask(beats(group, "stranger", -1))


@case(ApiKey.SHARE_GROUP_HEARTBEAT)
def a_member_joins_beats_and_leaves(ask: Ask) -> None:
    topic, group = ask.topic(partitions=2), new_group(ask)
    ask(beats(group, "member", 0, [topic]))
    epoch = joined(ask, group, topic)
    ask(beats(group, "member", epoch))
    ask(beats(group, "member", epoch, [topic]))
    ask(ShareGroupDescribeRequest([group]), 1)
    ask(beats(group, "member", -1))
    ask(ShareGroupDescribeRequest([group]), 1)
    ask(DeleteGroupsRequest([group]), 2)
    ask(ShareGroupDescribeRequest([group]), 1)


@case(ApiKey.SHARE_GROUP_DESCRIBE)
def groups_that_are_none(ask: Ask) -> None:
    ask(ShareGroupDescribeRequest([ask.name("nobody"), ""]))


# ---- records


@case(ApiKey.SHARE_FETCH)
def sessions(ask: Ask) -> None:
    group, topic = read(ask)
    asks(ask, fetches(ask, group, topic, 3))
    asks(ask, fetches(ask, group, topic, -1))
    asks(ask, fetches(ask, group, topic, 0))
    asks(ask, fetches(ask, group, topic, 5))
    asks(ask, fetches(ask, group, topic, 1, max_wait_ms=0))
    asks(ask, fetches(ask, group, topic, -1))
    asks(ask, fetches(ask, group, topic, -1))


@case(ApiKey.SHARE_FETCH)
def batches_and_limits(ask: Ask) -> None:
    group, topic = read(ask, 30)
    asks(ask, fetches(ask, group, topic, 0, max_records=7, batch_size=5))
    asks(ask, fetches(ask, group, topic, 1, max_records=1))
    asks(ask, fetches(ask, group, topic, 2))


@case(ApiKey.SHARE_FETCH)
def sizes_below_one(ask: Ask) -> None:
    group, topic = read(ask, 15)
    asks(ask, fetches(ask, group, topic, 0, max_records=1))
    asks(ask, fetches(ask, group, topic, 1, max_records=0, max_wait_ms=0))
    asks(ask, fetches(ask, group, topic, 2, max_records=-1, max_wait_ms=0))
    asks(ask, fetches(ask, group, topic, 3, max_records=3, batch_size=0))
    asks(ask, fetches(ask, group, topic, 4, batch_size=-5))


@case(ApiKey.SHARE_FETCH, since=2)
def a_strict_limit(ask: Ask) -> None:
    group, topic = read(ask)
    asks(ask, fetches(ask, group, topic, 0, max_records=3, share_acquire_mode=1))
    asks(ask, fetches(ask, group, topic, 1, max_records=3, share_acquire_mode=1))


@case(ApiKey.SHARE_ACKNOWLEDGE)
def acknowledgements(ask: Ask) -> None:
    group, topic = read(ask)
    asks(ask, acknowledges(ask, group, topic, 0, (0, 1, [ACCEPT])))
    asks(ask, acknowledges(ask, group, topic, 1, (0, 1, [ACCEPT])))
    acquired(ask, group, topic)
    asks(ask, acknowledges(ask, group, topic, 1, (0, 1, [ACCEPT]), (2, 3, [RELEASE, REJECT])))
    asks(ask, acknowledges(ask, group, topic, 2, (0, 1, [ACCEPT])))
    asks(ask, acknowledges(ask, group, topic, 3, (2, 2, [ACCEPT])))
    asks(ask, acknowledges(ask, group, topic, 4, (8, 12, [ACCEPT])))
    asks(ask, acknowledges(ask, group, topic, 5, (20, 22, [ACCEPT])))
    asks(ask, acknowledges(ask, group, topic, 6, (5, 4, [ACCEPT])))
    asks(ask, acknowledges(ask, group, topic, 7, (4, 6, [ACCEPT, ACCEPT])))
    asks(ask, acknowledges(ask, group, topic, 8, (4, 6, [])))
    asks(ask, acknowledges(ask, group, topic, 9, (4, 6, [9])))
    asks(ask, acknowledges(ask, group, topic, 10, (5, 6, [ACCEPT]), (4, 4, [ACCEPT])))
    asks(ask, fetches(ask, group, topic, 11), FETCH)
    asks(ask, acknowledges(ask, group, topic, -1, (4, 9, [0])))
    asks(ask, acknowledges(ask, group, topic, -1, (4, 9, [ACCEPT])))
    ask(DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, None)]), OFFSETS)


@case(ApiKey.SHARE_ACKNOWLEDGE)
def acknowledgements_of_what_is_not_read(ask: Ask) -> None:
    topic = ask.topic(partitions=2)
    ask.fill(topic, 10)
    ask.fill(topic, 10, partition=1)
    group = new_group(ask)
    joined(ask, group, topic)
    acquired(ask, group, topic)  # of partition 0
    said = [AcknowledgementBatch(0, 4, [ACCEPT])]
    topics = (ask.topic_ids[topic], ask.topic_ids[ask.topic("other")], bytes(range(16)))
    for epoch, (topic_id, index) in enumerate(product(topics, (1, 9)), 1):
        named = [AcknowledgeTopic(topic_id, [AcknowledgePartition(index, said)])]
        asks(ask, ShareAcknowledgeRequest(group, "member", epoch, topics=named))


# ---- offsets


@case(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS)
def offsets(ask: Ask) -> None:
    group, topic = read(ask)
    acquired(ask, group, topic)
    ask.quietly(acknowledges(ask, group, topic, 1, (0, 3, [ACCEPT])), ACKNOWLEDGE)
    named = [DescribeShareGroupOffsetsRequestTopic(topic, [0]), DescribeShareGroupOffsetsRequestTopic("absent", [0])]
    ask(DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, named)]))
    ask(DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, None)]))
    nobody = DescribeShareGroupOffsetsRequestGroup(ask.name("nobody"), None)
    ask(DescribeShareGroupOffsetsRequest([nobody]))


def alters(group: str, topic: str, index: int, offset: int) -> AlterShareGroupOffsetsRequest:
    partition = AlterShareGroupOffsetsRequestPartition(index, offset)
    return AlterShareGroupOffsetsRequest(group, [AlterShareGroupOffsetsRequestTopic(topic, [partition])])


@case(ApiKey.ALTER_SHARE_GROUP_OFFSETS)
def altered_offsets(ask: Ask) -> None:
    group, topic = read(ask)
    ask(alters(group, topic, 0, 5))
    ask.quietly(beats(group, "member", -1), BEAT)
    ask(alters(group, topic, 0, 5))
    ask(alters(group, topic, 4, 5))
    ask(alters(group, "absent", 0, 5))
    ask(DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, None)]), OFFSETS)
    other = ask.name("other")
    ask(alters(other, topic, 0, 3))
    ask(DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(other, None)]), OFFSETS)
    ask(ShareGroupDescribeRequest([other]), 1)


@case(ApiKey.DELETE_SHARE_GROUP_OFFSETS)
def deleted_offsets(ask: Ask) -> None:
    group, topic = read(ask)
    other = ask.topic("other")
    topics = [DeleteShareGroupOffsetsRequestTopic(each) for each in (topic, other, "absent")]
    ask(DeleteShareGroupOffsetsRequest(group, topics))
    ask.quietly(beats(group, "member", -1), BEAT)
    ask(DeleteShareGroupOffsetsRequest(group, topics))
    ask(DeleteShareGroupOffsetsRequest(group, topics))
    ask(DeleteShareGroupOffsetsRequest(ask.name("nobody"), topics))


@case(ApiKey.SHARE_ACKNOWLEDGE)
def what_is_acquired_when_the_group_is_altered(ask: Ask) -> None:
    """Its members have left, and one of them has its session yet."""
    group, topic = read(ask)
    acquired(ask, group, topic)
    ask.quietly(beats(group, "member", -1), BEAT)
    ask.quietly(alters(group, topic, 0, 4), 0)
    asks(ask, acknowledges(ask, group, topic, 1, (0, 5, [ACCEPT])))
    asks(ask, fetches(ask, group, topic, 2, max_wait_ms=2000), FETCH)


@case(ApiKey.SHARE_ACKNOWLEDGE)
def what_is_acquired_when_the_group_is_deleted(ask: Ask) -> None:
    group, topic = read(ask)
    acquired(ask, group, topic)
    ask.quietly(beats(group, "member", -1), BEAT)
    ask.quietly(DeleteGroupsRequest([group]), 2)
    asks(ask, acknowledges(ask, group, topic, 1, (0, 5, [ACCEPT])))
    joined(ask, group, topic)
    asks(ask, acknowledges(ask, group, topic, 2, (6, 9, [ACCEPT])))


# ---- the share coordinator


def wait_for_coordinator(ask: Ask, key: str) -> None:
    request = FindCoordinatorRequest(key_type=2, coordinator_keys=[key])
    deadline = time.monotonic() + 20
    while error := ask.quietly(request, 6).coordinators[0].error_code:
        assert time.monotonic() < deadline, error
        time.sleep(0.05)


@case(ApiKey.FIND_COORDINATOR, since=6)
def of_a_share_partition(ask: Ask) -> None:
    topic = ask.topic()
    wait_for_coordinator(ask, f"{ask.name('group')}:{uuid_to_str(ask.topic_ids[topic])}:0")
    ask(FindCoordinatorRequest(key_type=2, coordinator_keys=["nonsense", "", "a:b", "::", ":b:1", "a:b:c"]))


@case(ApiKey.WRITE_SHARE_GROUP_STATE)
def the_state_of_a_share_partition(ask: Ask) -> None:
    topic = ask.topic()
    group, topic_id = ask.name("group"), ask.topic_ids[topic]
    wait_for_coordinator(ask, f"{group}:{uuid_to_str(topic_id)}:0")

    def write(start: int, *batches: tuple[int, int, int, int], leader: int = 0, state: int = 0) -> None:
        said = [write_share_group_state.StateBatch(*each) for each in batches]
        data = write_share_group_state.PartitionData(0, state, leader, start, state_batches=said)
        request = write_share_group_state.WriteShareGroupStateRequest(
            group, [write_share_group_state.WriteStateData(topic_id, [data])]
        )
        _settled(ask, request, ask.version)

    def initialize(state: int, start: int) -> None:
        data = initialize_share_group_state.PartitionData(0, state, start)
        request = initialize_share_group_state.InitializeShareGroupStateRequest(
            group, [initialize_share_group_state.InitializeStateData(topic_id, [data])]
        )
        _settled(ask, request, 0)

    def look(leader: int = 0) -> None:
        data = read_share_group_state.PartitionData(0, leader)
        request = read_share_group_state.ReadShareGroupStateRequest(
            group, [read_share_group_state.ReadStateData(topic_id, [data])]
        )
        _settled(ask, request, 0)
        summary = read_share_group_state_summary.PartitionData(0, leader)
        _settled(
            ask,
            read_share_group_state_summary.ReadShareGroupStateSummaryRequest(
                group, [read_share_group_state_summary.ReadStateSummaryData(topic_id, [summary])]
            ),
            1,
        )

    write(0)
    look()
    initialize(0, -1)
    look()
    write(0, (0, 4, 2, 1), (5, 9, 0, 1))
    look()
    write(3, (5, 6, 2, 2))
    look()
    look(2)
    write(3, leader=1)
    write(4, leader=2)
    initialize(4, 7)
    look(2)
    write(8, leader=2)
    initialize(3, 1)
    gone = delete_share_group_state.DeleteStateData(topic_id, [delete_share_group_state.PartitionData(0)])
    for _ in range(2):
        _settled(ask, delete_share_group_state.DeleteShareGroupStateRequest(group, [gone]), 0)
    look(2)


def _settled(ask: Ask, request: Any, version: int) -> None:
    """Asks until the coordinator has loaded, and keeps that answer."""
    ask.until(lambda answer: answer.results[0].partitions[0].error_code not in (14, 15, 16), request, version)


@case(ApiKey.SHARE_FETCH)
def a_fetch_waits_for_its_least_bytes(ask: Ask) -> None:
    group, topic = read(ask, 0)
    reader, version = ask.connect(), ask.version
    ask.keep(reader.ask(fetches(ask, group, topic, 0), version))
    ask.fill(topic, 2)
    waiting = reader.send(fetches(ask, group, topic, 1, max_wait_ms=20_000, min_bytes=2000), version)
    other = ask.quietly(fetches(ask, group, topic, 0, member="other", max_wait_ms=2000), version)
    ask.keep(other.responses[0].partitions[0].acquired_records)
    ask.fill(topic, 100, per_batch=50)
    ask.keep(reader.receive(ApiKey.SHARE_FETCH, version, waiting))
    ask.fill(topic, 3)
    ask.keep(reader.ask(fetches(ask, group, topic, 2, max_wait_ms=300, min_bytes=2000), version))
    reader.close()


@case(ApiKey.SHARE_FETCH, since=2)
def a_session_that_outlives_its_group(ask: Ask) -> None:
    """The member leaves the group and keeps its session; the group is deleted and begins again."""
    group, topic = read(ask)
    acquired(ask, group, topic)
    ask.quietly(acknowledges(ask, group, topic, 1, (0, 4, [ACCEPT])), ACKNOWLEDGE)
    ask.quietly(beats(group, "member", -1), BEAT)
    asks(ask, DeleteGroupsRequest([group]), 2)
    configure(ask, group, "share.auto.offset.reset", "earliest")
    joined(ask, group, topic)
    asks(ask, fetches(ask, group, topic, 2))
    asks(ask, acknowledges(ask, group, topic, 3, (5, 6, [ACCEPT])), ACKNOWLEDGE)
    asks(ask, fetches(ask, group, topic, 4))
    asks(ask, fetches(ask, group, topic, 0, member="another"))


def commits(group: str, topic: str) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group, -1, "", topics=[OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(0, 3)])]
    )


@case(ApiKey.SHARE_GROUP_HEARTBEAT, since=1)
def groups_of_other_kinds(ask: Ask) -> None:
    """What is for groups of another kind is asked of a share group, with a member and without, and what is for share groups of others."""
    group, topic = read(ask)
    classic, consumers, simple = (new_group(ask, kind) for kind in ("classic", "consumers", "simple"))
    ask.quietly(joins_classically(classic), 3)
    ask.quietly(joins(consumers, "consumer", topic), 1)
    ask.quietly(commits(simple, topic), 8)
    for _ in range(2):
        for_others(ask, group, topic)
        ask.quietly(beats(group, "member", -1), BEAT)
    for other in (classic, consumers, simple):
        for_share_groups(ask, other, topic)


def for_others(ask: Ask, group: str, topic: str) -> None:
    ask(joins_classically(group), 3)
    ask(joins(group, "consumer", topic), 1)
    ask(enters(group, "first", reads(topic)), 1)
    ask(commits(group, topic), 8)
    wanted = [OffsetFetchRequestTopics(topic, partition_indexes=[0])]
    ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, None, -1, wanted)]), 9)
    ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, None, -1, None)]), 9)
    ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, "member", 2, wanted)]), 9)
    ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, "stranger", -1, wanted)]), 9)
    ask(OffsetDeleteRequest(group, [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)])]), 0)
    ask(DescribeGroupsRequest([group]), 6)
    ask(ConsumerGroupDescribeRequest([group]), 1)
    ask(StreamsGroupDescribeRequest([group]), 1)
    ask(LeaveGroupRequest(group, members=[MemberIdentity("member")]), 5)
    ask(HeartbeatRequest(group, 1, "member"), 4)


def for_share_groups(ask: Ask, group: str, topic: str) -> None:
    ask(beats(group, "member", 0, [topic]))
    ask(beats(group, "member", 1))
    ask(beats(group, "member", -1))
    ask(ShareGroupDescribeRequest([group]), 1)
    offsets = [DescribeShareGroupOffsetsRequestTopic(topic, [0])]
    ask(DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, offsets)]), OFFSETS)
    ask(alters(group, topic, 0, 3), 0)
    ask(DeleteShareGroupOffsetsRequest(group, [DeleteShareGroupOffsetsRequestTopic(topic)]), 0)
