"""LeaveGroup: members leave or are removed by an administrator, one by one or in a batch (KIP-345).

Named by member id, by ``group.instance.id`` alone (an administrator does not know the member id), or by both, which
must belong together.
"""

from __future__ import annotations

import logging

from pykbroker.coordination.groups.classic.group import ClassicGroup, ClassicGroupState
from pykbroker.coordination.outcome import Outcome
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse

log = logging.getLogger(__name__)


def leave(group: ClassicGroup, request: LeaveGroupRequest, reply: Deferred[LeaveGroupResponse]) -> Outcome:
    """Handle one LeaveGroup; the answer has a result for each member."""
    out = Outcome()
    answers: list[MemberResponse] = []
    for identity in request.members:
        code = _leave_one(group, identity, out)
        answers.append(
            MemberResponse(member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=code)
        )
    if any(answer.error_code == ErrorCode.NONE for answer in answers):
        if group.state in (ClassicGroupState.STABLE, ClassicGroupState.COMPLETING_REBALANCE):
            group.prepare_rebalance("members left", out)
        else:
            group.complete_if_joined(out)
    out.reply(reply, LeaveGroupResponse(members=answers))
    return out


def _leave_one(group: ClassicGroup, identity: MemberIdentity, out: Outcome) -> ErrorCode:
    member_id = identity.member_id
    if member_id in group.members.pending:
        group.members.remove(member_id)
        return ErrorCode.NONE
    if member_id == "":
        member_id = group.members.static_id(identity.group_instance_id) or ""
    try:
        member = group.members.validate(member_id, identity.group_instance_id)
    except KafkaError as error:
        return error.code
    reason = identity.reason or "not provided"
    log.info("Group %s: member %s leaves; client reason: %s", group.group_id, member.member_id, reason)
    group.drop(member, out)
    return ErrorCode.NONE
