"""StreamsGroupDescribe (key 89, versions 0 to 1): epochs, topology, members and tasks of streams groups (KIP-1071).

A group that does not exist or has another type is answered GROUP_ID_NOT_FOUND. Descriptions of topologies are kept by a plug-in of
Kafka's broker (KIP-1331), which is a class of Java: none is shown.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.group import check_group_id
from pykbroker.coordination.groups.streams.requests import check_served, describe
from pykbroker.handlers.in_slices import each
from pykbroker.runtime.waits import apply, attempt
from pykbroker.security.authorized import authorized_operations
from pykbroker.security.resources import GROUP
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.streams_group_describe import DescribedGroup, StreamsGroupDescribeResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.authorizer import Authorizer
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.streams_group_describe import StreamsGroupDescribeRequest

#: The weight of a group whose permitted operations are asked for, each of which is a question to the authorizer.
_WEIGHT_WITH_AUTHORIZER = 6
_NOT_STORED = 1


def handle(
    broker: Broker, ctx: RequestContext, request: StreamsGroupDescribeRequest
) -> StreamsGroupDescribeResponse | Deferred[StreamsGroupDescribeResponse]:
    operations = partial(_with_operations, broker.authorizer, ctx)

    def with_operations(group_id: str) -> Deferred[DescribedGroup]:
        described = _describe(broker, group_id)
        if request.include_topology_description:
            described = described.map(_without_description)
        return described.map(operations) if request.include_authorized_operations else described

    weight = 3 if broker.authorizer is None else _WEIGHT_WITH_AUTHORIZER
    described = each(broker, ctx, request.group_ids, with_operations, weight=weight, once=str)
    return apply(lambda groups: StreamsGroupDescribeResponse(groups=groups), described)


def _with_operations(authorizer: Authorizer | None, ctx: RequestContext, group: DescribedGroup) -> DescribedGroup:
    if group.error_code == ErrorCode.NONE:
        group.authorized_operations = authorized_operations(authorizer, ctx, GROUP, group.group_id)
    return group


def _without_description(group: DescribedGroup) -> DescribedGroup:
    if group.error_code == ErrorCode.NONE:
        group.topology_description_status = _NOT_STORED
    return group


def _describe(broker: Broker, group_id: str) -> Deferred[DescribedGroup]:
    def checked() -> DescribedGroup | Deferred[DescribedGroup]:
        check_served(broker)
        check_group_id(group_id)
        return broker.groups.ask(group_id, describe, group_id)

    def refused(error: KafkaError) -> DescribedGroup:
        return DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.given_message)

    return attempt(checked).recover(KafkaError, refused)
