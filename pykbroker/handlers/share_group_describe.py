"""ShareGroupDescribe (key 77), version 1: epochs, members and assignments of share groups (KIP-932).

A group that does not exist or has another type is answered GROUP_ID_NOT_FOUND.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.share.requests import check_served, describe
from pykbroker.handlers.describing_groups import DescribedKind, described_groups
from pykbroker.runtime.waits import apply
from pykbroker.wire.messages.share_group_describe import DescribedGroup, ShareGroupDescribeResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.share_group_describe import ShareGroupDescribeRequest

_KIND = DescribedKind(check_served, describe, DescribedGroup, weight=3, weight_with_authorizer=6)


def handle(
    broker: Broker, ctx: RequestContext, request: ShareGroupDescribeRequest
) -> ShareGroupDescribeResponse | Deferred[ShareGroupDescribeResponse]:
    described = described_groups(
        broker, ctx, _KIND, request.group_ids, with_operations=request.include_authorized_operations
    )
    return apply(lambda groups: ShareGroupDescribeResponse(groups=groups), described)
