"""LeaveGroup (key 13), versions 0 to 5: members leave a classic group at once, without waiting for their session timeout.

One member up to version 2; from version 3 a batch with an answer for each, in which static members may be named by
``group.instance.id`` alone (KIP-345); a reason from version 5 (KIP-800). The rules are in
``groups/classic/leaving.py``.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.classic.requests import leave
from pykbroker.coordination.groups.group import check_group_id
from pykbroker.handlers.in_slices import in_turn
from pykbroker.runtime.waits import apply, as_wait
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.leave_group import LeaveGroupResponse, MemberIdentity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.leave_group import LeaveGroupRequest

_BATCH_SINCE = 3
#: Members of a batch that leave together.
_AT_ONCE = 1000


def handle(
    broker: Broker, ctx: RequestContext, request: LeaveGroupRequest
) -> LeaveGroupResponse | Deferred[LeaveGroupResponse]:
    check_group_id(request.group_id)
    if ctx.api_version >= _BATCH_SINCE:
        return in_turn(broker, ctx, request.members, partial(_leave, broker, request), _AT_ONCE).map(_joined)
    request.members = [MemberIdentity(member_id=request.member_id)]
    return apply(_as_single, broker.groups.ask(request.group_id, leave, request))


def _leave(
    broker: Broker, request: LeaveGroupRequest, members: Sequence[MemberIdentity]
) -> Deferred[LeaveGroupResponse]:
    some = copy(request)
    some.members = list(members)
    return as_wait(broker.groups.ask(request.group_id, leave, some))


def _joined(answers: list[LeaveGroupResponse]) -> LeaveGroupResponse:
    """The answers for the parts of a batch as one."""
    first, *others = answers
    for other in others:
        first.error_code = first.error_code or other.error_code
        first.members += other.members
    return first


def _as_single(answer: LeaveGroupResponse) -> LeaveGroupResponse:
    """The answer for a batch of one, in the form of versions before 3."""
    return LeaveGroupResponse(error_code=answer.error_code or answer.members[0].error_code)


def failed(request: LeaveGroupRequest, version: int, error: KafkaError) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=error.code)
