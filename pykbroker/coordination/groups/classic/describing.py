"""A classic group as DescribeGroups shows it."""

from __future__ import annotations

from pykbroker.coordination.groups.classic.group import ClassicGroup, ClassicGroupState
from pykbroker.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember


def described(group: ClassicGroup) -> DescribedGroup:
    """Metadata and assignments of members are shown only while the group is stable, as in Kafka."""
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
