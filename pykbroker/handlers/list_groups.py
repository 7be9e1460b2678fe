"""ListGroups (key 16), versions 0 to 5: the groups that this broker coordinates.

Version 4 adds the state and a filter by it (KIP-518), version 5 the type and a filter by it (KIP-848).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.in_slices import in_slices
from pykbroker.runtime.waits import apply
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.list_groups import ListedGroup, ListGroupsResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.groups.group import Group
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.list_groups import ListGroupsRequest


#: The weight of listing a group.
_WEIGHT = 0.3


def handle(
    broker: Broker, ctx: RequestContext, request: ListGroupsRequest
) -> ListGroupsResponse | Deferred[ListGroupsResponse]:
    states = {state.strip().lower() for state in request.states_filter}
    types = {kind.strip().lower() for kind in request.types_filter}

    def listed(group: Group) -> ListedGroup | None:
        state = group.state.value
        if (states and state.lower() not in states) or (types and group.type_name not in types):
            return None
        return ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=state,
            group_type=group.type_name,
        )

    found = in_slices(broker, ctx, broker.groups.describe_all(listed, _WEIGHT))
    return apply(lambda groups: ListGroupsResponse(groups=groups), found)


def failed(request: ListGroupsRequest, version: int, error: KafkaError) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=error.code)
