"""Heartbeat (key 12), versions 0 to 4: a member of a classic group is alive, and learns whether it must rejoin.

Static members from version 3 (KIP-345).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.classic.requests import heartbeat
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.heartbeat import HeartbeatResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.heartbeat import HeartbeatRequest


def handle(
    broker: Broker, ctx: RequestContext, request: HeartbeatRequest
) -> HeartbeatResponse | Deferred[HeartbeatResponse]:
    if not request.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    return broker.groups.ask(request.group_id, heartbeat, request)


def failed(request: HeartbeatRequest, version: int, error: KafkaError) -> HeartbeatResponse:
    if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return HeartbeatResponse()  # as in Kafka: members stay while the group is loaded
    return HeartbeatResponse(error_code=error.code)
