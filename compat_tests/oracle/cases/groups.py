"""FindCoordinator and the classic group protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and looking at groups."""

from __future__ import annotations

import struct
from typing import Any

from compat_tests.oracle.cases import case
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pykbroker.wire.messages.list_groups import ListGroupsRequest
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

JOIN, SYNC, BEAT, LEAVE = 9, 4, 4, 5
"""Versions of what a case asks besides the API it is about. SyncGroup 5 wants the protocol named."""


def subscription(*topics: str, user_data: bytes = b"") -> bytes:
    """A consumer's metadata in its oldest form. Apache Kafka reads it, and leaves a request unanswered where it cannot."""
    named = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", 0, len(topics)) + named + struct.pack(">i", len(user_data)) + user_data


RANGE = [JoinGroupRequestProtocol("range", subscription("subscribed"))]


def join(
    group: str, member: str = "", *, protocols: Any = None, protocol_type: str = "consumer", **options: Any
) -> JoinGroupRequest:
    settings = {"session_timeout_ms": 30_000, "rebalance_timeout_ms": 5_000, **options}
    return JoinGroupRequest(
        group, member_id=member, protocol_type=protocol_type, protocols=protocols or RANGE, **settings
    )


def sync(
    group: str, generation: int, member: str, assigned: dict[str, bytes] | None = None, **options: Any
) -> SyncGroupRequest:
    assignments = [SyncGroupRequestAssignment(to, what) for to, what in (assigned or {}).items()]
    return SyncGroupRequest(group, generation, member, assignments=assignments, **options)


def enter(ask: Ask, group: str, version: int = JOIN, **options: Any) -> str:
    """Joins with what version asks: a second try where the first is answered with an id. Quiet; returns the member's id."""
    answer = ask.quietly(join(group, **options), version)
    if answer.error_code == 79:
        answer = ask.quietly(join(group, answer.member_id, **options), version)
    assert answer.error_code == 0, answer
    return answer.member_id


def settled_group(ask: Ask, what: str = "group", **options: Any) -> tuple[str, str]:
    """A stable group of one member; its name and the member's id."""
    group = ask.name(what)
    member = enter(ask, group, **options)
    assert ask.quietly(sync(group, 1, member, {member: b"all"}), SYNC).error_code == 0
    return group, member


# ---- FindCoordinator


@case(ApiKey.FIND_COORDINATOR)
def of_groups(ask: Ask) -> None:
    for group in (ask.name("group"), ""):
        if ask.version >= 4:
            ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[group, "other"]))
        else:
            ask(FindCoordinatorRequest(group))


@case(ApiKey.FIND_COORDINATOR, since=1)
def of_an_unknown_kind(ask: Ask) -> None:
    if ask.version >= 4:
        ask(FindCoordinatorRequest(key_type=9, coordinator_keys=["x"]))
        ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[]))
    else:
        ask(FindCoordinatorRequest("x", 9))


# ---- JoinGroup, SyncGroup


@case(ApiKey.JOIN_GROUP)
def the_first_member(ask: Ask) -> None:
    group = ask.name("group")
    first = ask(join(group))
    if first.error_code:
        first = ask(join(group, first.member_id))
    ask(join(group, first.member_id))
    ask(sync(group, 1, first.member_id, {first.member_id: b"all"}), SYNC)


@case(ApiKey.JOIN_GROUP)
def refused(ask: Ask) -> None:
    group = ask.name("group")
    ask(join(""))
    ask(join(group, "a member nobody knows"))
    ask(join(group, session_timeout_ms=1))
    ask(join(group, session_timeout_ms=2_000_000_000))
    ask(join(group, protocol_type=""))
    empty = join(group)
    empty.protocols = []
    ask(empty)


@case(ApiKey.JOIN_GROUP)
def another_kind_of_protocol(ask: Ask) -> None:
    group, _ = settled_group(ask)
    ask(join(group, protocol_type="connect"))
    ask(join(group, protocols=[JoinGroupRequestProtocol("sticky", subscription(user_data=b""))]))


@case(ApiKey.JOIN_GROUP)
def two_members_and_their_protocols(ask: Ask) -> None:
    group = ask.name("group")
    one = enter(
        ask,
        group,
        protocols=[
            JoinGroupRequestProtocol("a", subscription(user_data=b"1a")),
            JoinGroupRequestProtocol("b", subscription(user_data=b"1b")),
        ],
    )
    ask.quietly(sync(group, 1, one, {one: b"all"}), SYNC)
    both = [
        JoinGroupRequestProtocol("b", subscription(user_data=b"2b")),
        JoinGroupRequestProtocol("a", subscription(user_data=b"2a")),
    ]
    two = ask.quietly(join(group, protocols=both), 4).member_id
    second = ask.send(join(group, two, protocols=both))
    while ask.quietly(HeartbeatRequest(group, 1, one), BEAT).error_code == 0:
        pass
    ask(HeartbeatRequest(group, 1, one), BEAT)
    first = ask(join(group, one, protocols=[JoinGroupRequestProtocol("b", subscription(user_data=b"1b"))]))
    ask.answered(second)
    followers = ask.send(sync(group, 2, two), SYNC)
    leaders = sync(group, first.generation_id, one, {one: b"for one", two: b"for two"})
    ask(leaders, SYNC)
    ask.answered(followers)
    ask(sync(group, 2, two), SYNC)


@case(ApiKey.JOIN_GROUP, since=5)
def static_members(ask: Ask) -> None:
    group = ask.name("group")
    first = ask(join(group, group_instance_id="machine"))
    ask(sync(group, 1, first.member_id, {first.member_id: b"all"}, group_instance_id="machine"), SYNC)
    again = ask(join(group, group_instance_id="machine"))
    ask(join(group, first.member_id, group_instance_id="machine"))
    ask(HeartbeatRequest(group, 1, first.member_id, "machine"), BEAT)
    ask(sync(group, 1, again.member_id, group_instance_id="machine"), SYNC)
    ask(HeartbeatRequest(group, again.generation_id, again.member_id, "machine"), BEAT)
    ask(join(group, "unknown", group_instance_id="other"))


@case(ApiKey.SYNC_GROUP)
def synchronised(ask: Ask) -> None:
    group = ask.name("group")
    member = enter(ask, group)
    ask(sync(group, 1, "unknown"))
    ask(sync(group, 7, member))
    ask(sync("", 1, member))
    ask(sync(ask.name("none"), 1, member))
    ask(sync(group, 1, member, {member: bytes(range(256)) * 400}))
    ask(sync(group, 1, member))


@case(ApiKey.SYNC_GROUP, since=5)
def with_its_protocol(ask: Ask) -> None:
    group = ask.name("group")
    member = enter(ask, group)
    ask(sync(group, 1, member, {member: b"x"}, protocol_type="connect", protocol_name="range"))
    ask(sync(group, 1, member, {member: b"x"}, protocol_type="consumer", protocol_name="sticky"))
    ask(sync(group, 1, member, {member: b"x"}, protocol_type="consumer", protocol_name="range"))


# ---- Heartbeat, LeaveGroup


@case(ApiKey.HEARTBEAT)
def beats(ask: Ask) -> None:
    group, member = settled_group(ask)
    ask(HeartbeatRequest(group, 1, member))
    ask(HeartbeatRequest(group, 2, member))
    ask(HeartbeatRequest(group, 0, member))
    ask(HeartbeatRequest(group, 1, "unknown"))
    ask(HeartbeatRequest(ask.name("none"), 1, member))
    ask(HeartbeatRequest("", 1, member))


@case(ApiKey.HEARTBEAT)
def a_beat_before_the_assignment(ask: Ask) -> None:
    group = ask.name("group")
    ask(HeartbeatRequest(group, 1, enter(ask, group)))


@case(ApiKey.LEAVE_GROUP, until=2)
def left(ask: Ask) -> None:
    group, member = settled_group(ask)
    ask(LeaveGroupRequest(group, "unknown"))
    ask(LeaveGroupRequest(group, member))
    ask(LeaveGroupRequest(group, member))
    ask(LeaveGroupRequest(ask.name("none"), member))
    ask(LeaveGroupRequest("", member))
    ask(DescribeGroupsRequest([group]), 5)


@case(ApiKey.LEAVE_GROUP, since=3)
def several_leave(ask: Ask) -> None:
    group = ask.name("group")
    member = enter(ask, group, group_instance_id="machine")
    ask(LeaveGroupRequest(group, members=[MemberIdentity("unknown"), MemberIdentity("", "nobody")]))
    ask(LeaveGroupRequest(group, members=[MemberIdentity("wrong", "machine")]))
    ask(LeaveGroupRequest(group, members=[]))
    ask(LeaveGroupRequest(group, members=[MemberIdentity("", "machine"), MemberIdentity(member)]))
    ask(LeaveGroupRequest(ask.name("none"), members=[MemberIdentity(member)]))
    ask(DescribeGroupsRequest([group]), 5)


# ---- DescribeGroups, ListGroups, DeleteGroups


@case(ApiKey.DESCRIBE_GROUPS)
def described(ask: Ask) -> None:
    group, _ = settled_group(ask)
    ask(DescribeGroupsRequest([group, ask.name("none"), ""]))
    joining = ask.name("joining")
    enter(ask, joining)
    ask(DescribeGroupsRequest([joining]))
    ask(DescribeGroupsRequest([]))


@case(ApiKey.DESCRIBE_GROUPS, since=3)
def described_with_operations(ask: Ask) -> None:
    group, _ = settled_group(ask)
    ask(DescribeGroupsRequest([group, ask.name("none")], include_authorized_operations=True))


@case(ApiKey.DESCRIBE_GROUPS)
def described_when_empty(ask: Ask) -> None:
    group, member = settled_group(ask)
    ask.quietly(LeaveGroupRequest(group, members=[MemberIdentity(member)]), LEAVE)
    ask(DescribeGroupsRequest([group]))


def listed(ask: Ask, groups: list[str], **filters: list[str]) -> None:
    """Keeps how these groups are listed, whatever other groups there are."""
    answer = ask.quietly(ListGroupsRequest(**filters), ask.version)
    answer.groups = [found for found in answer.groups if found.group_id in groups]
    ask.keep(answer)


@case(ApiKey.LIST_GROUPS)
def all_groups(ask: Ask) -> None:
    stable, _ = settled_group(ask)
    joining = ask.name("joining")
    enter(ask, joining)
    groups = [stable, joining]
    listed(ask, groups)
    if ask.version >= 4:
        for states in (["Stable"], ["stable", "CompletingRebalance"], ["Empty"], ["NoSuchState"], []):
            listed(ask, groups, states_filter=states)
    if ask.version >= 5:
        for types in (["classic"], ["Classic"], ["consumer"], ["share"], ["nothing"]):
            listed(ask, groups, types_filter=types)


@case(ApiKey.DELETE_GROUPS)
def deleted(ask: Ask) -> None:
    group, member = settled_group(ask)
    ask(DeleteGroupsRequest([group, ask.name("none"), ""]))
    ask.quietly(LeaveGroupRequest(group, members=[MemberIdentity(member)]), LEAVE)
    ask(DeleteGroupsRequest([group]))
    ask(DeleteGroupsRequest([group]))
    ask(DescribeGroupsRequest([group]), 5)
    ask(DeleteGroupsRequest([]))
