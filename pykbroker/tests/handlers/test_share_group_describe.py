"""ShareGroupDescribe: states, epochs, members and what they are assigned."""

from __future__ import annotations

from pykbroker.tests.kit.share_groups import SHARE_GROUP, ShareCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.share_group_describe import DescribedGroup, ShareGroupDescribeRequest


def described(world: ShareCluster, *groups: str, operations: bool = False) -> list[DescribedGroup]:
    found: list[DescribedGroup] = world.ask(ShareGroupDescribeRequest(list(groups), operations), 1).groups
    return found


def test_members_and_their_partitions() -> None:
    world = ShareCluster(partitions=2)
    one = world.joined("one")
    (group,) = described(world, SHARE_GROUP, operations=True)
    (member,) = group.members
    assert (group.error_code, group.group_state, group.assignor_name) == (0, "Stable", "simple")
    assert (group.group_epoch, group.assignment_epoch) == (one.member_epoch, one.member_epoch)
    assert (member.member_id, member.client_id, member.client_host) == ("one", "client", "/127.0.0.1")
    assert (member.member_epoch, member.subscribed_topic_names) == (one.member_epoch, ["t"])
    (assigned,) = member.assignment.topic_partitions
    assert (assigned.topic_name, assigned.partitions) == ("t", [0, 1])
    assert group.authorized_operations > 0
    world.heartbeat("one", -1)
    (group,) = described(world, SHARE_GROUP)
    assert (group.group_state, group.members) == ("Empty", [])
    assert group.authorized_operations == -(2**31)


def test_what_is_no_share_group() -> None:
    world = ShareCluster()
    world.joined()
    for name in ("unknown", ""):
        (group,) = described(world, name)
        assert group.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.INVALID_GROUP_ID), group
        assert group.group_id == name
    assert [each.error_code for each in described(world, SHARE_GROUP, "unknown")] == [0, ErrorCode.GROUP_ID_NOT_FOUND]
