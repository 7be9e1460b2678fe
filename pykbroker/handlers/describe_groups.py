"""DescribeGroups (key 15), versions 0 to 6: state, protocol and members of classic groups.

Authorized operations from version 3 (KIP-430), static members from version 4 (KIP-345). A group that does not exist is
"Dead" without an error up to version 5, and GROUP_ID_NOT_FOUND from version 6 (KIP-1043). So is a group of another type.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.classic.group import ClassicGroup, ClassicGroupState
from pykbroker.runtime.waits import attempt, gather
from pykbroker.security.operations import GROUP_OPERATIONS
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember, DescribeGroupsResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.groups.group import Group
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest

_NOT_FOUND_SINCE = 6


def handle(broker: Broker, ctx: RequestContext, request: DescribeGroupsRequest) -> Deferred[DescribeGroupsResponse]:
    described = [_describe(broker, group_id, ctx.api_version) for group_id in request.groups]
    return gather(described).map(partial(_response, request))


def _response(request: DescribeGroupsRequest, groups: list[DescribedGroup]) -> DescribeGroupsResponse:
    for group in groups if request.include_authorized_operations else ():
        if group.error_code == ErrorCode.NONE:
            group.authorized_operations = GROUP_OPERATIONS
    return DescribeGroupsResponse(groups=groups)


def _describe(broker: Broker, group_id: str, version: int) -> Deferred[DescribedGroup]:
    def describe(group: Group | None) -> DescribedGroup:
        if isinstance(group, ClassicGroup):
            return _described(group)
        described = DescribedGroup(group_id=group_id, group_state=ClassicGroupState.DEAD.value)
        if version >= _NOT_FOUND_SINCE:
            described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            reason = "not found" if group is None else "is not a classic group"
            described.error_message = f"Group {group_id} {reason}."
        return described

    described = attempt(broker.cluster.groups.describe, broker, group_id, describe)
    return described.recover(KafkaError, lambda error: DescribedGroup(group_id=group_id, error_code=error.code))


def _described(group: ClassicGroup) -> DescribedGroup:
    """What the members said and got is shown while the group is stable: else it is of no generation."""
    stable = group.state is ClassicGroupState.STABLE
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol or "") if stable else "",
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(group.protocol) if stable else b"",
                member_assignment=member.assignment,
            )
            for member in group.members
        ],
    )
