"""StreamsGroupDescribe (key 89, versions 0 to 1): epochs, topology, members and tasks of streams groups (KIP-1071).

A group that does not exist or has another type is answered GROUP_ID_NOT_FOUND. Descriptions of topologies are kept by a plug-in of
Kafka's broker (KIP-1331), which is a class of Java: none is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.streams.requests import check_served, describe
from pykbroker.handlers.describing_groups import DescribedKind, described_groups
from pykbroker.runtime.waits import apply
from pykbroker.wire.messages.streams_group_describe import DescribedGroup, StreamsGroupDescribeResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.streams_group_describe import StreamsGroupDescribeRequest

_KIND = DescribedKind(check_served, describe, DescribedGroup, weight=3, weight_with_authorizer=6, in_slices=True)
_NOT_STORED = 1


def handle(
    broker: Broker, ctx: RequestContext, request: StreamsGroupDescribeRequest
) -> StreamsGroupDescribeResponse | Deferred[StreamsGroupDescribeResponse]:
    described = described_groups(
        *(broker, ctx, _KIND, request.group_ids),
        with_operations=request.include_authorized_operations,
        add=_without_description if request.include_topology_description else None,
    )
    return apply(lambda groups: StreamsGroupDescribeResponse(groups=groups), described)


def _without_description(group: DescribedGroup) -> None:
    group.topology_description_status = _NOT_STORED
