"""DescribeGroups (key 15), versions 0 to 6: state, protocol and members of classic groups.

Authorized operations from version 3 (KIP-430), static members from version 4 (KIP-345). A group that does not exist is
"Dead" without an error up to version 5, and GROUP_ID_NOT_FOUND from version 6 (KIP-1043). So is a group of another type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.classic.group import ClassicGroup, State
from pykbroker.security.operations import GROUP_OPERATIONS
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember, DescribeGroupsResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest

_NOT_FOUND_SINCE = 6


def handle(broker: Broker, ctx: RequestContext, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    response = DescribeGroupsResponse()
    for group_id in request.groups:
        described = _describe(broker, group_id, ctx.api_version)
        if request.include_authorized_operations and described.error_code == ErrorCode.NONE:
            described.authorized_operations = GROUP_OPERATIONS
        response.groups.append(described)
    return response


def _describe(broker: Broker, group_id: str, version: int) -> DescribedGroup:
    try:
        group = broker.cluster.groups.group(broker, group_id)
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    if isinstance(group, ClassicGroup):
        return _described(group)
    described = DescribedGroup(group_id=group_id, group_state=State.DEAD.value)
    if version >= _NOT_FOUND_SINCE:
        described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        reason = "not found" if group is None else "is not a classic group"
        described.error_message = f"Group {group_id} {reason}."
    return described


def _described(group: ClassicGroup) -> DescribedGroup:
    """What the members said and got is shown while the group is stable: else it is of no generation."""
    stable = group.state is State.STABLE
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
