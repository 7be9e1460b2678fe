"""JoinGroup (key 11), versions 0 to 9: become a member of the group's next generation (KIP-62, KIP-134).

From version 4 a member without an id is given one and must rejoin with it (KIP-394); static members from version 5
(KIP-345); the protocol type from version 7 (KIP-559); the client's reason from version 8 (KIP-800); from version 9 a static
leader that returns to a stable group is told to skip the assignment (KIP-814). The answer waits until the rebalance has all
members or times out. The rules are in ``groups/classic/joining.py`` and ``groups/classic/group.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.classic.requests import check_protocols, check_session_timeout, join
from pykbroker.coordination.groups.group import check_group_id
from pykbroker.runtime.waits import apply
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.join_group import JoinGroupResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.errors import KafkaError
    from pykbroker.wire.messages.join_group import JoinGroupRequest


_PROTOCOL_MAY_BE_NULL_SINCE = 7
#: What is refused before the group is asked. Only these refusals repeat the member id that the request had.
_REFUSED_AT_ONCE = (ErrorCode.INVALID_GROUP_ID, ErrorCode.INVALID_SESSION_TIMEOUT)


def handle(
    broker: Broker, ctx: RequestContext, request: JoinGroupRequest
) -> JoinGroupResponse | Deferred[JoinGroupResponse]:
    check_group_id(request.group_id)
    groups = broker.groups
    check_session_timeout(request, groups.settings)
    check_protocols(request)
    answer = groups.ask(request.group_id, join, ctx, request)
    return apply(_without_null, answer) if ctx.api_version < _PROTOCOL_MAY_BE_NULL_SINCE else answer


def _without_null(response: JoinGroupResponse) -> JoinGroupResponse:
    """A refusal names no protocol; versions before 7 need an empty name for that."""
    response.protocol_name = response.protocol_name or ""
    return response


def failed(request: JoinGroupRequest, version: int, error: KafkaError) -> JoinGroupResponse:
    protocol = None if version >= _PROTOCOL_MAY_BE_NULL_SINCE else ""
    member_id = request.member_id if error.code in _REFUSED_AT_ONCE else ""
    return JoinGroupResponse(error_code=error.code, member_id=member_id, protocol_name=protocol)
