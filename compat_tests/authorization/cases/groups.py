"""Groups: finding their coordinator, being a member, committing, describing, deleting."""

from __future__ import annotations

import time

from compat_tests.authorization.cases import case
from compat_tests.authorization.signing import SignedAsk
from compat_tests.harness.awaiting import LIMIT_S
from compat_tests.oracle.cases.consumer_groups import configure, wait_until_applied
from pykbroker.security.operations import ALTER_CONFIGS, CLUSTER_ACTION, DELETE, DESCRIBE, READ
from pykbroker.security.resources import CLUSTER, GROUP, TOPIC, TRANSACTIONAL_ID
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pykbroker.wire.messages.list_groups import ListGroupsRequest
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
from pykbroker.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from pykbroker.wire.messages.sync_group import SyncGroupRequest

_ID_OF_NO_MEMBER = "somebody"


def _committed(ask: SignedAsk, group: str, *topics: str) -> None:
    """Offsets of a group without members."""
    committed = [OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(0, 5)]) for topic in topics]
    answer = ask.quietly(OffsetCommitRequest(group, -1, "", topics=committed), 8)
    assert all(partition.error_code == 0 for topic in answer.topics for partition in topic.partitions), answer


@case(
    ApiKey.FIND_COORDINATOR, (GROUP, "g", DESCRIBE), (GROUP, "h", READ), (TRANSACTIONAL_ID, "g", DESCRIBE),
    (CLUSTER, None, CLUSTER_ACTION), versions=(0, 3, 4, 6),
)  # fmt: skip
def coordinators_are_looked_for(ask: SignedAsk) -> None:
    keys = [ask.name("g"), ask.name("h"), ask.name("i")]
    for key_type in (0,) if ask.version == 0 else (0, 1, 2):
        if ask.version >= 4:
            ask(FindCoordinatorRequest(key_type=key_type, coordinator_keys=keys))
        else:
            for key in keys:
                ask(FindCoordinatorRequest(key, key_type))


@case(ApiKey.JOIN_GROUP, (GROUP, "g", READ), (GROUP, "g", DESCRIBE), versions=(0, 5, 9))
def a_member_joins(ask: SignedAsk) -> None:
    protocols = [JoinGroupRequestProtocol("range", b"")]
    ask(JoinGroupRequest(ask.name("g"), 10_000, 10_000, _ID_OF_NO_MEMBER, None, "consumer", protocols))


@case(ApiKey.SYNC_GROUP, (GROUP, "g", READ), versions=(0, 3, 5))
def a_member_wants_its_assignment(ask: SignedAsk) -> None:
    ask(SyncGroupRequest(ask.name("g"), 1, _ID_OF_NO_MEMBER))
    if ask.version >= 5:
        stated = {"protocol_type": "consumer", "protocol_name": "range"}
        ask(SyncGroupRequest(ask.name("g"), 1, _ID_OF_NO_MEMBER, **stated))


@case(ApiKey.HEARTBEAT, (GROUP, "g", READ))
def a_member_sends_heartbeats(ask: SignedAsk) -> None:
    ask(HeartbeatRequest(ask.name("g"), 1, _ID_OF_NO_MEMBER))


@case(ApiKey.LEAVE_GROUP, (GROUP, "g", READ), versions=(0, 3, 5))
def a_member_leaves(ask: SignedAsk) -> None:
    if ask.version < 3:
        ask(LeaveGroupRequest(ask.name("g"), _ID_OF_NO_MEMBER))
    else:
        ask(LeaveGroupRequest(ask.name("g"), members=[MemberIdentity(_ID_OF_NO_MEMBER)]))


@case(ApiKey.OFFSET_COMMIT, (GROUP, "g", READ), (TOPIC, "t", READ), (TOPIC, "u", READ), versions=(2, 7, 9, 10))
def offsets_are_committed(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u"), ask.name("missing")]
    topics = [
        OffsetCommitRequestTopic(
            **ask.reference(name, 10, "name"),
            partitions=[OffsetCommitRequestPartition(0, 1), OffsetCommitRequestPartition(7, 1)],
        )
        for name in names
    ]
    ask(OffsetCommitRequest(ask.name("g"), -1, "", topics=topics))
    ask(OffsetCommitRequest(ask.name("g"), 3, _ID_OF_NO_MEMBER, topics=topics[1:]))
    ask(OffsetCommitRequest(ask.name("g"), -1, "", topics=[]))


@case(ApiKey.OFFSET_FETCH, (GROUP, "g", DESCRIBE), (TOPIC, "t", DESCRIBE), versions=(1, 2, 7, 8, 9, 10))
def offsets_are_fetched(ask: SignedAsk) -> None:
    group, other = ask.name("g"), ask.name("h")
    names = [ask.topic("t"), ask.topic("u"), ask.name("missing")]
    for each in (group, other):
        _committed(ask, each, *names[:2])
    if ask.version < 8:
        topics = [OffsetFetchRequestTopic(name, [0, 1]) for name in names]
        for each in (group, other):
            ask(OffsetFetchRequest(each, topics))
            ask(OffsetFetchRequest(each, topics[1:2]))
            if ask.version >= 2:
                ask(OffsetFetchRequest(each, None))
        return
    wanted = [OffsetFetchRequestTopics(**ask.reference(name, 10, "name"), partition_indexes=[0, 1]) for name in names]
    ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(each, topics=wanted) for each in (group, other)]))
    ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(each, topics=None) for each in (group, other)]))
    ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=wanted[1:2])]))
    if ask.version >= 9:
        stale = OffsetFetchRequestGroup(group, _ID_OF_NO_MEMBER, 3, topics=wanted)
        ask(OffsetFetchRequest(groups=[stale]))


@case(ApiKey.OFFSET_DELETE, (GROUP, "g", DELETE), (TOPIC, "t", READ))
def offsets_are_deleted(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u"), ask.name("missing")]
    _committed(ask, ask.name("g"), *names[:2])
    topics = [OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(0)]) for name in names]
    ask(OffsetDeleteRequest(ask.name("g"), topics[1:2]))
    ask(OffsetDeleteRequest(ask.name("g"), topics))
    ask(OffsetDeleteRequest(ask.name("none"), topics[1:2]))


@case(
    ApiKey.DESCRIBE_GROUPS, (GROUP, "g", DESCRIBE), (GROUP, "h", READ), (GROUP, "g", ALTER_CONFIGS), versions=(0, 3, 6)
)
def classic_groups_are_described(ask: SignedAsk) -> None:
    topic = ask.topic("t")
    groups = [ask.name("g"), ask.name("h"), ask.name("i")]
    for group in groups[:2]:
        _committed(ask, group, topic)
    ask(DescribeGroupsRequest(groups, ask.version >= 3))
    ask(DescribeGroupsRequest(groups[2:]))


@case(ApiKey.LIST_GROUPS, (GROUP, "g", DESCRIBE), (GROUP, "h", DELETE), (CLUSTER, None, DESCRIBE))
def groups_are_listed(ask: SignedAsk) -> None:
    topic = ask.topic("t")
    for group in ("g", "h", "i"):
        _committed(ask, ask.name(group), topic)
    listed = ask.quietly_as_user(ListGroupsRequest())
    listed.groups = [group for group in listed.groups if group.group_id.startswith(f"{ask.prefix}-")]
    ask.keep(listed)


@case(ApiKey.DELETE_GROUPS, (GROUP, "g", DELETE), (GROUP, "h", READ))
def groups_are_deleted(ask: SignedAsk) -> None:
    topic = ask.topic("t")
    for group in ("g", "h"):
        _committed(ask, ask.name(group), topic)
    ask(DeleteGroupsRequest([ask.name(group) for group in ("g", "h", "none")]))


def _heartbeat(ask: SignedAsk, group: str = "g", **said: object) -> ConsumerGroupHeartbeatRequest:
    joining = {"member_epoch": 0, "rebalance_timeout_ms": 30_000, "topic_partitions": []}
    member = {"member_id": f"{ask.prefix}-member" if ask.version >= 1 else ""}
    return ConsumerGroupHeartbeatRequest(ask.name(group), **{**joining, **member, **said})


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT, (GROUP, "g", READ), (TOPIC, "t", DESCRIBE), (TOPIC, "u", READ), versions=(1,))
def a_consumer_joins_and_leaves(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u")]
    # No epoch depends on the time that goes by; and Kafka's coordinator, which hears late of new topics, has heard of these.
    configure(ask, ask.name("g"), "consumer.assignment.interval.ms", "0")
    wait_until_applied(ask)
    for topics in (names, [ask.name("missing")], names[:1]):
        ask(_heartbeat(ask, subscribed_topic_names=topics))


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT, (GROUP, "g", READ), (TOPIC, "t", DESCRIBE), versions=(1,))
def a_pattern_stands_for_what_may_be_seen(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u")]
    pattern = f"{names[0][:-2]}-[tu]"
    first = ask(_heartbeat(ask, subscribed_topic_regex=pattern))
    if first is None or first.error_code:
        return
    # Which topics it stands for is told by the log of the group's patterns; a member hears of them in a later heartbeat.
    described = ConsumerGroupDescribeRequest([ask.name("g")])
    deadline = time.monotonic() + LIMIT_S
    while True:
        beat = _heartbeat(ask, member_epoch=first.member_epoch, topic_partitions=None)
        first = ask.quietly_as_user(beat)
        (group,) = ask.quietly(described, 1).groups
        target = [each.topic_name for each in group.members[0].target_assignment.topic_partitions]
        if target or "t" not in ask.allowed_topics:
            ask.keep(sorted(target))
            return
        assert time.monotonic() < deadline, group
        time.sleep(0.02)


@case(ApiKey.CONSUMER_GROUP_DESCRIBE, (GROUP, "g", DESCRIBE), (TOPIC, "t", DESCRIBE), (TOPIC, "u", DESCRIBE))
def consumer_groups_are_described(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u")]
    member = {"member_id": ask.name("m"), "subscribed_topic_names": names}
    seen = ask.quietly(_heartbeat(ask, **member), 1)
    deadline = time.monotonic() + LIMIT_S
    while seen.assignment is None or len(seen.assignment.topic_partitions) < len(names):
        assert seen.error_code == 0, seen
        assert time.monotonic() < deadline, seen
        time.sleep(0.02)
        seen = ask.quietly(_heartbeat(ask, **member), 1)  # it joins anew: Kafka's coordinator hears late of new topics
    described = ask.quietly_as_user(ConsumerGroupDescribeRequest([ask.name("g"), ask.name("none")], True))
    for group in described.groups:  # how often it had to change until then is Kafka's chance
        group.group_epoch = group.assignment_epoch = 0
        for each in group.members:
            each.member_epoch = 0
    ask.keep(described)
