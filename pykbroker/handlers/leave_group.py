"""LeaveGroup (key 13), versions 0 to 5: members leave a classic group at once, without waiting for their session timeout.

One member up to version 2; from version 3 a batch with an answer for each, in which static members may be named by
``group.instance.id`` alone (KIP-345); a reason from version 5 (KIP-800). The rules are in
``groups/classic/leaving.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.leave_group import LeaveGroupResponse, MemberIdentity

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.leave_group import LeaveGroupRequest

_BATCH_SINCE = 3


def handle(broker: Broker, ctx: RequestContext, request: LeaveGroupRequest) -> Deferred[LeaveGroupResponse]:
    if ctx.api_version >= _BATCH_SINCE:
        return broker.cluster.groups.leave(broker, request)
    request.members = [MemberIdentity(member_id=request.member_id)]
    return broker.cluster.groups.leave(broker, request).map(_as_single)


def _as_single(answer: LeaveGroupResponse) -> LeaveGroupResponse:
    """The answer for a batch of one, in the form of versions before 3."""
    return LeaveGroupResponse(error_code=answer.error_code or answer.members[0].error_code)


def failed(request: LeaveGroupRequest, version: int, error: KafkaError) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=error.code)
