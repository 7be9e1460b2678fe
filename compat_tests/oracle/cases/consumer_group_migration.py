"""From the classic protocol to the consumer protocol and back, and classic members in a consumer group."""

from __future__ import annotations

from typing import Any

from compat_tests.oracle.cases import case
from compat_tests.oracle.cases.consumer_groups import BEAT, beats, group, joins, looks, owns
from compat_tests.oracle.cases.groups import JOIN, LEAVE
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.internal.consumer_protocol_assignment import ConsumerProtocolAssignment
from pykbroker.wire.internal.consumer_protocol_assignment import TopicPartition as Assigned
from pykbroker.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription, TopicPartition
from pykbroker.wire.internal.coordinator import encode_versioned
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

STRATEGY = "range"


def subscribed(*topics: str, owned: dict[str, list[int]] | None = None) -> bytes:
    partitions = [TopicPartition(topic, indexes) for topic, indexes in (owned or {}).items()]
    return encode_versioned(ConsumerProtocolSubscription(list(topics), None, partitions, -1, None), 3)


def assigned(topic: str, *partitions: int, user_data: bytes | None = None) -> bytes:
    return encode_versioned(ConsumerProtocolAssignment([Assigned(topic, list(partitions))], user_data), 3)


def classic(
    name: str,
    member: str,
    *topics: str,
    owned: dict[str, list[int]] | None = None,
    protocols: list[JoinGroupRequestProtocol] | None = None,
    **options: Any,
) -> JoinGroupRequest:
    offered = protocols or [JoinGroupRequestProtocol(STRATEGY, subscribed(*topics, owned=owned))]
    return JoinGroupRequest(name, 30_000, 60_000, member, protocol_type="consumer", protocols=offered, **options)


def syncs(name: str, generation: int, member: str, instance: str | None = None, **options: Any) -> SyncGroupRequest:
    stated = {"protocol_type": "consumer", "protocol_name": STRATEGY, **options}
    return SyncGroupRequest(name, generation, member, instance, **stated)


def settled(ask: Ask, name: str, topic: str, *partitions: int, instance: str | None = None, **options: Any) -> str:
    """A stable classic group of one member that has the partitions; its id."""
    version = JOIN if instance is None else 5
    answer = ask.quietly(classic(name, "", topic, group_instance_id=instance), version)
    if answer.error_code == 79:
        answer = ask.quietly(classic(name, answer.member_id, topic), version)
    assert answer.error_code == 0, answer
    given = [SyncGroupRequestAssignment(answer.member_id, assigned(topic, *partitions, **options))]
    synced = ask.quietly(syncs(name, answer.generation_id, answer.member_id, instance, assignments=given), 5)
    assert synced.error_code == 0, synced
    return answer.member_id


def plain(ask: Ask, answer: Any) -> Any:
    """What a JoinGroup said, but for the ids that are random."""
    if answer is not None:
        ask.answers[-1]["member_id"] = "<given>" if answer.member_id else ""
        ask.answers[-1]["leader"] = "<given>" if answer.leader else ""
        ask.answers[-1]["members"] = len(answer.members)
    return answer


def described(ask: Ask, name: str) -> None:
    """The group as both kinds of description have it, random ids apart."""
    for request, version in ((DescribeGroupsRequest([name]), 6),):
        answer = ask.quietly(request, version)
        for found in answer.groups[0].members:
            found.member_id = "<given>"
        ask.keep(answer)


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def classic_groups_that_cannot_become_consumer_groups(ask: Ask) -> None:
    topic = ask.topic(partitions=2)
    other = ask.name("other type")
    offered = [JoinGroupRequestProtocol("default", b"opaque")]
    answer = ask.quietly(JoinGroupRequest(other, 30_000, 60_000, "", protocol_type="connect", protocols=offered), 3)
    assert answer.error_code == 0
    ask(joins(other, "new", topic))
    ask(beats(other, "new", 1))
    ask(beats(other, "new", -1))
    custom = ask.name("custom assignor")
    settled(ask, custom, topic, 0, 1, user_data=b"more")
    ask(joins(custom, "new", topic))


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def an_empty_classic_group(ask: Ask) -> None:
    topic, name = ask.topic(partitions=2), group(ask)
    member = settled(ask, name, topic, 0, 1)
    ask.quietly(LeaveGroupRequest(name, members=[MemberIdentity(member)]), LEAVE)
    ask(beats(name, "new", 1))
    ask(joins(name, "new", topic))
    looks(ask, name)
    ask(beats(name, "new", -1))
    plain(ask, ask(classic(name, "", topic), 3))
    looks(ask, name)


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def up_and_down(ask: Ask) -> None:
    """A classic member is joined by one of the consumer protocol, shares with it, and is left by it."""
    topic, name = ask.topic(partitions=2), group(ask)
    old = settled(ask, name, topic, 0, 1)
    ask(joins(name, "new", topic))
    ask(HeartbeatRequest(name, 1, old), 4)
    ask(syncs(name, 1, old), 5)
    plain(ask, ask(classic(name, old, topic, owned={topic: [0, 1]}), JOIN))
    ask(syncs(name, 1, old), 5)
    ask(HeartbeatRequest(name, 1, old), 4)
    answer = plain(ask, ask(classic(name, old, topic, owned={topic: [0]}), JOIN))
    ask(syncs(name, answer.generation_id, old), 5)
    ask(syncs(name, answer.generation_id, old, protocol_name="sticky"), 5)
    ask(syncs(name, answer.generation_id, old, protocol_type="connect"), 5)
    ask(syncs(name, 7, old), 5)
    ask(syncs(name, 1, "new"), 5)
    ask(HeartbeatRequest(name, answer.generation_id, old), 4)
    ask(HeartbeatRequest(name, 7, old), 4)
    ask(HeartbeatRequest(name, 2, "new"), 4)
    ask(HeartbeatRequest(name, 2, "nobody"), 4)
    ask(beats(name, "new", 2, topic_partitions=[]))
    described(ask, name)
    ask(beats(name, "new", -1))
    described(ask, name)
    ask(HeartbeatRequest(name, answer.generation_id, old), 4)
    answer = plain(ask, ask(classic(name, old, topic), JOIN))
    ask(syncs(name, answer.generation_id, old, assignments=[SyncGroupRequestAssignment(old, b"new")]), 5)


@case(ApiKey.JOIN_GROUP)
def of_a_consumer_group(ask: Ask) -> None:
    topic, name = ask.topic(partitions=2), group(ask)
    ask.quietly(joins(name, "one", topic), BEAT)
    refused = classic(name, "", topic)
    refused.protocol_type = "connect"
    plain(ask, ask(refused))
    refused = classic(name, "", topic)
    refused.protocols = []
    plain(ask, ask(refused))
    answer = plain(ask, ask(classic(name, "", topic)))
    if answer.error_code:
        answer = plain(ask, ask(classic(name, answer.member_id, topic)))
    plain(ask, ask(classic(name, "", protocols=[JoinGroupRequestProtocol("sticky", subscribed(topic))])))
    ask(beats(name, "one", 2, topic_partitions=owns(ask, {topic: [0, 1]})), BEAT)
    ask(beats(name, "one", 2, topic_partitions=owns(ask, {topic: [0]})), BEAT)
    ask(HeartbeatRequest(name, answer.generation_id, answer.member_id), 4)


@case(ApiKey.LEAVE_GROUP)
def of_a_mixed_group(ask: Ask) -> None:
    topic, name = ask.topic(partitions=2), group(ask)
    ask.quietly(joins(name, "one", topic, instance_id="i1"), BEAT)
    ask.quietly(joins(name, "two", topic), BEAT)
    ask.quietly(joins(name, "three", topic), BEAT)
    if ask.version < 3:
        ask(LeaveGroupRequest(name, "nobody"))
        ask(LeaveGroupRequest(name, "two"))
    else:
        gone = [
            MemberIdentity("nobody"),
            MemberIdentity("x", "i1"),
            MemberIdentity("x", "i2"),
            MemberIdentity("", "i1"),
            MemberIdentity("two"),
        ]
        answer = ask(LeaveGroupRequest(name, members=gone))
        assert answer is not None
    looks(ask, name)


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def static_members_that_change_protocol(ask: Ask) -> None:
    topic, name = ask.topic(partitions=2), group(ask)
    settled(ask, name, topic, 0, 1, instance="i1")
    ask(joins(name, "new", topic, instance_id="i1"))
    looks(ask, name)
    ask(beats(name, "new", 2, instance_id="i1"))
    answer = plain(ask, ask(classic(name, "", topic, group_instance_id="i1"), 5))
    described(ask, name)
    ask(beats(name, "new", 2, instance_id="i1"))
    ask(syncs(name, answer.generation_id, answer.member_id, "i1"), 5)
    ask(joins(name, "newer", topic, instance_id="i1"))
    looks(ask, name)
    other = ask.topic("other")
    plain(ask, ask(classic(name, "", other, group_instance_id="i1"), 5))
    described(ask, name)


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def a_classic_group_in_the_middle_of_a_rebalance(ask: Ask) -> None:
    topic, name = ask.topic(partitions=2), group(ask)
    first = settled(ask, name, topic, 0, 1)
    waiting = ask.send(classic(name, "", topic), 3)
    while ask.quietly(HeartbeatRequest(name, 1, first), 4).error_code == 0:
        pass
    ask(joins(name, "new", topic))
    plain(ask, ask.answered(waiting))
    ask(HeartbeatRequest(name, 1, first), 4)
