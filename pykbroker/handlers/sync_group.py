"""SyncGroup (key 14), versions 0 to 5: the leader sends the assignment, each member receives its own.

Static members from version 3 (KIP-345). From version 5 the protocol type and name are sent and must match the group's
(KIP-559). The answer waits for the leader's request. The rules are in ``groups/classic/syncing.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.classic.requests import sync
from pykbroker.coordination.groups.group import check_group_id
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.sync_group import SyncGroupResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.sync_group import SyncGroupRequest

_PROTOCOL_STATED_SINCE = 5


def handle(
    broker: Broker, ctx: RequestContext, request: SyncGroupRequest
) -> SyncGroupResponse | Deferred[SyncGroupResponse]:
    if ctx.api_version >= _PROTOCOL_STATED_SINCE and (request.protocol_type is None or request.protocol_name is None):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    check_group_id(request.group_id)
    return broker.groups.ask(request.group_id, sync, request)


def failed(request: SyncGroupRequest, version: int, error: KafkaError) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error.code)
