"""ShareGroupHeartbeat (key 76), version 1: the one request of a member of a share group to its coordinator (KIP-932).

A member joins, heartbeats, states its subscription and leaves with it; the answer carries its partitions, which it may share with
other members. The rules are in ``groups/share/``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.share.heartbeats import check_request
from pykbroker.coordination.groups.share.requests import check_served, heartbeat
from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.errors import KafkaError
    from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest


def handle(
    broker: Broker, ctx: RequestContext, request: ShareGroupHeartbeatRequest
) -> ShareGroupHeartbeatResponse | Deferred[ShareGroupHeartbeatResponse]:
    check_served(broker)
    check_request(request)
    broker.groups.check_fits(request.group_id, request.subscribed_topic_names or ())
    return broker.groups.ask(request.group_id, heartbeat, ctx, request)


def failed(request: ShareGroupHeartbeatRequest, version: int, error: KafkaError) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=error.code, error_message=error.given_message)
