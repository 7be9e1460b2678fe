"""ConsumerGroupHeartbeat (key 68), versions 0 to 1: the one request of a member of a consumer group (KIP-848).

A member joins, heartbeats and leaves with it and reports the partitions that it owns; the answer carries its assignment.
From version 1 the member generates its own id and may subscribe by regular expression. The rules are in ``groups/consumer/``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.consumer.checking import check_request
from pykbroker.coordination.groups.consumer.heartbeats import reported_in
from pykbroker.coordination.groups.consumer.requests import check_served, heartbeat
from pykbroker.coordination.groups.consumer.settings import ConsumerSettings
from pykbroker.handlers.in_slices import around_a_handler, is_small
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.groups.coordinator import GroupCoordinator
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions


def handle(
    broker: Broker, ctx: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse | Deferred[ConsumerGroupHeartbeatResponse]:
    check_served(broker)
    groups = broker.groups
    check_request(request, ctx.api_version, groups.settings.of(ConsumerSettings))
    groups.check_fits(request.group_id, request.subscribed_topic_names or ())
    topics = request.topic_partitions
    if topics is None or is_small(topics):
        return groups.ask(request.group_id, heartbeat, ctx, request)
    return around_a_handler(broker, ctx, _with_partitions(groups, ctx, request, topics))


def _with_partitions(
    groups: GroupCoordinator,
    ctx: RequestContext,
    request: ConsumerGroupHeartbeatRequest,
    topics: list[TopicPartitions],
) -> Work[ConsumerGroupHeartbeatResponse]:
    reported = yield from reported_in(topics)
    return groups.ask(request.group_id, heartbeat, ctx, request, reported)


def failed(request: ConsumerGroupHeartbeatRequest, version: int, error: KafkaError) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.given_message)
