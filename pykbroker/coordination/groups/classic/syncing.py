"""SyncGroup: the leader sends the assignment, every member receives its own.

A request before the leader's waits. A repeat in a stable group is answered again.
"""

from __future__ import annotations

import logging

from pykbroker.coordination.groups.classic.answers import assigned, not_assigned
from pykbroker.coordination.groups.classic.group import ClassicGroup, ClassicGroupState
from pykbroker.coordination.outcome import Outcome
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

log = logging.getLogger(__name__)


def sync(group: ClassicGroup, request: SyncGroupRequest, reply: Deferred[SyncGroupResponse]) -> Outcome:
    """Handle one SyncGroup to a group with members."""
    out = Outcome()
    code = _refusal(group, request)
    if code is not ErrorCode.NONE:
        out.reply(reply, not_assigned(code))
        return out
    member = group.members[request.member_id]
    group.synced(member.member_id)
    if group.state is ClassicGroupState.STABLE:
        out.reply(reply, assigned(group, member))
        return out
    out.reply(member.syncing, not_assigned(ErrorCode.REBALANCE_IN_PROGRESS))  # superseded by this one
    member.syncing = reply
    if member.member_id == group.members.leader:
        assignments = {given.member_id: given.assignment for given in request.assignments}
        missing = sum(1 for member in group.members if member.member_id not in assignments)
        if missing:
            log.warning("Group %s: the leader assigned nothing to %d members", group.group_id, missing)
        group.assign(assignments, out)
    return out


def _refusal(group: ClassicGroup, request: SyncGroupRequest) -> ErrorCode:
    """The error of this SyncGroup, or NONE."""
    if group.state is ClassicGroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    try:
        group.members.validate(request.member_id, request.group_instance_id)
    except KafkaError as error:
        return error.code
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if _differs(request.protocol_type, group.protocol_type) or _differs(request.protocol_name, group.protocol):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _differs(stated: str | None, ours: str | None) -> bool:
    """Whether both values are given and differ (KIP-559)."""
    return stated is not None and ours is not None and stated != ours
