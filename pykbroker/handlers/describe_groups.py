"""DescribeGroups (key 15), versions 0 to 6: state, protocol and members of classic groups.

Authorized operations from version 3 (KIP-430), static members from version 4 (KIP-345). A group that does not exist or has
another type is answered as "Dead" without an error up to version 5, GROUP_ID_NOT_FOUND from version 6 (KIP-1043).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.classic.group import ClassicGroupState
from pykbroker.coordination.groups.classic.requests import describe
from pykbroker.handlers.in_slices import each
from pykbroker.runtime.waits import apply, attempt
from pykbroker.security.authorized import authorized_operations
from pykbroker.security.resources import GROUP
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.describe_groups import DescribedGroup, DescribeGroupsResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.authorizer import Authorizer
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest

_NOT_FOUND_SINCE = 6

#: The weight of a group whose permitted operations are asked for, each of which is a question to the authorizer.
_WEIGHT_WITH_AUTHORIZER = 3


def handle(
    broker: Broker, ctx: RequestContext, request: DescribeGroupsRequest
) -> DescribeGroupsResponse | Deferred[DescribeGroupsResponse]:
    operations = partial(_with_operations, broker.authorizer, ctx)

    def described_in_order(group_id: str) -> Deferred[DescribedGroup]:
        described = _describe(broker, group_id, ctx.api_version)
        return described.map(operations) if request.include_authorized_operations else described

    weight = 1 if broker.authorizer is None else _WEIGHT_WITH_AUTHORIZER
    described = each(broker, ctx, request.groups, described_in_order, weight=weight, once=str)
    return apply(lambda groups: DescribeGroupsResponse(groups=groups), described)


def _with_operations(authorizer: Authorizer | None, ctx: RequestContext, group: DescribedGroup) -> DescribedGroup:
    if group.error_code == ErrorCode.NONE:
        group.authorized_operations = authorized_operations(authorizer, ctx, GROUP, group.group_id)
    return group


def _describe(broker: Broker, group_id: str, version: int) -> Deferred[DescribedGroup]:
    def refused(error: KafkaError) -> DescribedGroup:
        if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            return DescribedGroup(group_id=group_id, error_code=error.code)
        dead = DescribedGroup(group_id=group_id, group_state=ClassicGroupState.DEAD.value)
        if version >= _NOT_FOUND_SINCE:
            dead.error_code, dead.error_message = error.code, error.given_message
        return dead

    described = attempt(lambda: broker.groups.ask(group_id, describe, group_id))
    return described.recover(KafkaError, refused)
