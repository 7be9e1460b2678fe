"""ListGroups (key 16), versions 0 to 5: the groups that this broker coordinates.

Version 4 adds the state and a filter by it (KIP-518), version 5 the type and a filter by it (KIP-848).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.list_groups import ListedGroup, ListGroupsResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.groups.group import Group
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.list_groups import ListGroupsRequest


def handle(broker: Broker, ctx: RequestContext, request: ListGroupsRequest) -> Deferred[ListGroupsResponse]:
    states = {state.strip().lower() for state in request.states_filter}
    types = {kind.strip().lower() for kind in request.types_filter}

    def listed(groups: Iterable[Group]) -> list[ListedGroup]:
        return [
            ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type or "",
                group_state=group.state.value,
                group_type=group.type_name,
            )
            for group in groups
            if (not states or group.state.value.lower() in states) and (not types or group.type_name in types)
        ]

    return broker.cluster.groups.describe_all(broker, listed).map(lambda groups: ListGroupsResponse(groups=groups))


def failed(request: ListGroupsRequest, version: int, error: KafkaError) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=error.code)
