"""ConsumerGroupDescribe (key 69), versions 0 to 1: epochs, members and assignments of consumer groups (KIP-848).

Version 1 adds the type of each member, classic or consumer (KIP-1099). A group that does not exist or has another type is
answered GROUP_ID_NOT_FOUND.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.consumer.requests import check_served, describe
from pykbroker.coordination.groups.group import check_group_id
from pykbroker.handlers.in_slices import each
from pykbroker.runtime.waits import apply, attempt
from pykbroker.security.authorized import authorized_operations
from pykbroker.security.resources import GROUP
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeResponse, DescribedGroup

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.authorizer import Authorizer
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest

#: The weight of a group whose permitted operations are asked for, each of which is a question to the authorizer.
_WEIGHT_WITH_AUTHORIZER = 3


def handle(
    broker: Broker, ctx: RequestContext, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse | Deferred[ConsumerGroupDescribeResponse]:
    operations = partial(_with_operations, broker.authorizer, ctx)

    def described_in_order(group_id: str) -> Deferred[DescribedGroup]:
        described = _describe(broker, group_id)
        return described.map(operations) if request.include_authorized_operations else described

    weight = 1 if broker.authorizer is None else _WEIGHT_WITH_AUTHORIZER
    described = each(broker, ctx, request.group_ids, described_in_order, weight=weight, once=str)
    return apply(lambda groups: ConsumerGroupDescribeResponse(groups=groups), described)


def _with_operations(authorizer: Authorizer | None, ctx: RequestContext, group: DescribedGroup) -> DescribedGroup:
    if group.error_code == ErrorCode.NONE:
        group.authorized_operations = authorized_operations(authorizer, ctx, GROUP, group.group_id)
    return group


def _describe(broker: Broker, group_id: str) -> Deferred[DescribedGroup]:
    def checked() -> DescribedGroup | Deferred[DescribedGroup]:
        check_served(broker)
        check_group_id(group_id)
        return broker.groups.ask(group_id, describe, group_id)

    def refused(error: KafkaError) -> DescribedGroup:
        return DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.given_message)

    return attempt(checked).recover(KafkaError, refused)
