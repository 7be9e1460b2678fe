"""ConsumerGroupHeartbeat (key 68), versions 0 to 1: the one request of a member of a consumer group (KIP-848).

A member joins, heartbeats and leaves with it and reports the partitions that it owns; the answer carries its assignment.
From version 1 the member generates its own id and may subscribe by regular expression. The rules are in ``groups/consumer/``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.consumer.checking import check_request
from pykbroker.coordination.groups.consumer.requests import check_served, heartbeat
from pykbroker.coordination.groups.consumer.settings import ConsumerSettings
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


def handle(
    broker: Broker, ctx: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse | Deferred[ConsumerGroupHeartbeatResponse]:
    check_served(broker)
    groups = broker.groups
    check_request(request, ctx.api_version, groups.settings.of(ConsumerSettings))
    groups.check_fits(request.group_id, request.subscribed_topic_names or ())
    return groups.ask(request.group_id, heartbeat, ctx, request)


def failed(request: ConsumerGroupHeartbeatRequest, version: int, error: KafkaError) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.given_message)
