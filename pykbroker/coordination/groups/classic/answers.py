"""The answers to members of a classic group: the members of the generation, the assignment, or an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from pykbroker.wire.messages.sync_group import SyncGroupResponse

if TYPE_CHECKING:
    from pykbroker.coordination.groups.classic.group import ClassicGroup
    from pykbroker.coordination.groups.classic.member import Member


def joined(group: ClassicGroup, member: Member, *, skip_assignment: bool = False) -> JoinGroupResponse:
    """The answer to JoinGroup; the leader also gets the other members, since it computes their assignments."""
    leads = member.member_id == group.members.leader
    return JoinGroupResponse(
        member_id=member.member_id,
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=group.members.leader or "",
        skip_assignment=skip_assignment,
        members=_everybody(group) if leads else [],
    )


def _everybody(group: ClassicGroup) -> list[JoinGroupResponseMember]:
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            metadata=member.metadata(group.protocol),
        )
        for member in group.members
    ]


def not_joined(code: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    """The refusal of a JoinGroup; it names no protocol."""
    return JoinGroupResponse(error_code=code, member_id=member_id, protocol_name=None)


def assigned(group: ClassicGroup, member: Member) -> SyncGroupResponse:
    """The answer to SyncGroup: the member's assignment."""
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=member.assignment
    )


def not_assigned(code: ErrorCode) -> SyncGroupResponse:
    """The refusal of a SyncGroup."""
    return SyncGroupResponse(error_code=code)
