"""Requests of the classic protocol, as steps for ``GroupCoordinator.ask``. The kind of the group answers each."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.classic.answers import not_joined
from pykbroker.coordination.groups.classic.joining import Joining
from pykbroker.coordination.groups.records import group_record
from pykbroker.coordination.outcome import Decision, Outcome
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.groups.settings import GroupSettings
    from pykbroker.coordination.groups.shard import GroupShard
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.describe_groups import DescribedGroup
    from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
    from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
    from pykbroker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
    from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

log = logging.getLogger(__name__)

#: Assignment protocols that a member offers at most; clients offer a few. The coordinator compares those of all members in one turn.
MOST_PROTOCOLS = 100


def check_protocols(request: JoinGroupRequest) -> None:
    """Raise KafkaError INCONSISTENT_GROUP_PROTOCOL for more protocols than MOST_PROTOCOLS; Apache Kafka has no such limit."""
    if len(request.protocols) > MOST_PROTOCOLS:
        log.warning("A member offers %d protocols to group %r", len(request.protocols), request.group_id)
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def check_session_timeout(request: JoinGroupRequest, settings: GroupSettings) -> None:
    """Raise KafkaError INVALID_SESSION_TIMEOUT for one that the broker does not allow."""
    if not settings.min_session_timeout_ms <= request.session_timeout_ms <= settings.max_session_timeout_ms:
        raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)


def join(shard: GroupShard, context: RequestContext, request: JoinGroupRequest) -> Decision[JoinGroupResponse]:
    """JoinGroup. A new group is recorded first, so that it is known after a restart. Raises what the kind's ``join`` raises."""
    reply: Deferred[JoinGroupResponse] = Deferred()
    return Decision(reply, _join(shard, Joining(context, request, reply, shard.around.random)))


def _join(shard: GroupShard, joining: Joining) -> Outcome:
    request = joining.request
    group = shard.groups.get(request.group_id)
    kind = shard.kinds.of(group)
    if not kind.gives_way(group):
        return kind.join(group, joining, shard.groups.get)
    if request.member_id != "":
        return shard.kinds.of(None).join(None, joining, shard.groups.get)
    record = group_record(
        request.group_id,
        generation=0,
        protocol_type=None,
        protocol=None,
        leader=None,
        timestamp_ms=shard.around.clock.now_ms(),
    )
    return Outcome(
        [*kind.end(group), record], then=partial(_join, shard, joining), otherwise=partial(_refuse_new, joining)
    )


def _refuse_new(joining: Joining, error: ErrorCode) -> Outcome:
    return Outcome(replies=[(joining.reply, not_joined(error))])


def sync(shard: GroupShard, request: SyncGroupRequest) -> Decision[SyncGroupResponse]:
    """SyncGroup, which needs a group with members. Raises what the kind's ``sync`` raises."""
    group = shard.groups.get(request.group_id)
    if group is not None and group.is_empty:
        group = None
    reply: Deferred[SyncGroupResponse] = Deferred()
    return Decision(reply, shard.kinds.of(group).sync(group, request, reply))


def heartbeat(shard: GroupShard, request: HeartbeatRequest) -> HeartbeatResponse:
    """Heartbeat. Raises KafkaError with UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or ILLEGAL_GENERATION."""
    group = shard.groups.get(request.group_id)
    return shard.kinds.of(group).heartbeat(group, request)


def leave(shard: GroupShard, request: LeaveGroupRequest) -> Decision[LeaveGroupResponse]:
    """LeaveGroup in its batched form."""
    group = shard.groups.get(request.group_id)
    reply: Deferred[LeaveGroupResponse] = Deferred()
    return Decision(reply, shard.kinds.of(group).leave(group, request, reply, shard.groups.get))


def describe(shard: GroupShard, group_id: str) -> DescribedGroup:
    """DescribeGroups of one group. Raises KafkaError GROUP_ID_NOT_FOUND for one of another kind, too."""
    group = shard.groups.get(group_id)
    return shard.kinds.of(group).describe(group, group_id)
