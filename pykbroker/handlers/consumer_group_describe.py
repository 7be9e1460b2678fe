"""ConsumerGroupDescribe (key 69), versions 0 to 1: epochs, members and assignments of consumer groups (KIP-848).

Version 1 adds the type of each member, classic or consumer (KIP-1099). A group that does not exist or has another type is
answered GROUP_ID_NOT_FOUND.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.consumer.requests import check_served, describe
from pykbroker.handlers.describing_groups import DescribedKind, described_groups
from pykbroker.runtime.waits import apply
from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeResponse, DescribedGroup

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest

_KIND = DescribedKind(check_served, describe, DescribedGroup, weight=1, weight_with_authorizer=3)


def handle(
    broker: Broker, ctx: RequestContext, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse | Deferred[ConsumerGroupDescribeResponse]:
    described = described_groups(
        broker, ctx, _KIND, request.group_ids, with_operations=request.include_authorized_operations
    )
    return apply(lambda groups: ConsumerGroupDescribeResponse(groups=groups), described)
