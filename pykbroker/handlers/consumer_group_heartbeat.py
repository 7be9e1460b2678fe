"""ConsumerGroupHeartbeat (key 68), versions 0 to 1: all that a member of a consumer group says and is told (KIP-848).

It joins, stays and leaves with it, reports what it owns, and is told what to revoke and what it is assigned. From version
1 the member makes its own id and may subscribe by a regular expression. The rules are in ``groups/consumer``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


def handle(
    broker: Broker, ctx: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> Deferred[ConsumerGroupHeartbeatResponse]:
    return broker.cluster.groups.consumer_heartbeat(broker, ctx, request)


def failed(request: ConsumerGroupHeartbeatRequest, version: int, error: KafkaError) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.given_message)
