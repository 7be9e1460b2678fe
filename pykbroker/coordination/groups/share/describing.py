"""A share group as ShareGroupDescribe shows it."""

from __future__ import annotations

from pykbroker.coordination.groups.share.group import ShareGroup, ShareMember
from pykbroker.wire.messages.share_group_describe import Assignment, DescribedGroup, Member, TopicPartitions

_ASSIGNOR = "simple"


def described(group: ShareGroup) -> DescribedGroup:
    """The group with all its members."""
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=_ASSIGNOR,
        members=[_member(group, member) for member in group.members.values()],
    )


def _member(group: ShareGroup, member: ShareMember) -> Member:
    return Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed),
        assignment=Assignment(
            [
                TopicPartitions(topic_id, name, sorted(some))
                for topic_id, some in member.assigned.items()
                if (name := group.around.topic_name(topic_id)) is not None
            ]
        ),
    )
