"""Members of a share group: they join, are assigned, are fenced, and leave."""

from __future__ import annotations

from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.share_groups import SHARE_GROUP, ShareCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.share_group_describe import DescribedGroup, ShareGroupDescribeRequest


def described(world: ShareCluster) -> DescribedGroup:
    request = ShareGroupDescribeRequest([SHARE_GROUP])
    (group,) = world.ask(request, 1, broker=world.coordinator(SHARE_GROUP)).groups
    return group


def partitions(answer) -> list[int]:
    return [index for each in answer.assignment.topic_partitions for index in each.partitions]


def test_a_member_gets_all_partitions_and_two_share_them() -> None:
    world = ShareCluster(partitions=4)
    one = world.joined("one")
    assert partitions(one) == [0, 1, 2, 3]
    two = world.joined("two")
    world.advance(1000)
    one = world.heartbeat("one", one.member_epoch, ["t"])
    assert sorted(partitions(one) + partitions(two)) == [0, 1, 2, 3]
    assert len(described(world).members) == 2


def test_more_members_than_partitions_all_have_some() -> None:
    world = ShareCluster(partitions=1)
    assert [partitions(world.joined(name)) for name in ("one", "two", "three")] == [[0], [0], [0]]


def test_epochs_are_checked() -> None:
    world = ShareCluster()
    epoch = world.joined("one").member_epoch
    assert world.heartbeat("one", epoch).error_code == ErrorCode.NONE
    assert world.heartbeat("one", epoch + 1).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert world.heartbeat("stranger", epoch).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat("", 0, ["t"]).error_code == ErrorCode.INVALID_REQUEST
    assert world.heartbeat("two", 0, []).error_code == ErrorCode.INVALID_REQUEST
    assert world.heartbeat("two", -2, ["t"]).error_code == ErrorCode.INVALID_REQUEST


def test_a_member_that_leaves_raises_the_epoch_and_the_group_stays() -> None:
    world = ShareCluster()
    epoch = world.joined("one").member_epoch
    before = described(world)
    assert world.heartbeat("one", -1).member_epoch == -1
    after = described(world)
    assert (after.group_state, after.members, after.group_epoch) == ("Empty", [], before.group_epoch + 1)
    assert world.heartbeat("one", epoch).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_silent_member_is_fenced_when_its_session_is_over() -> None:
    world = ShareCluster()
    one = world.joined("one").member_epoch
    world.advance(44_000)
    assert world.heartbeat("one", one).error_code == ErrorCode.NONE
    world.advance(44_000)
    world.settle()
    assert len(described(world).members) == 1
    world.advance(2000)
    world.settle()
    assert described(world).members == []


def test_members_go_on_with_their_epochs_after_a_kill() -> None:
    world = ShareCluster(partitions=2)
    one = world.joined("one")
    world.restart(kill=True)
    again = world.heartbeat("one", one.member_epoch, ["t"])
    assert (again.error_code, again.member_epoch, partitions(again)) == (0, one.member_epoch, [0, 1])


def test_a_group_has_no_more_members_than_its_limit() -> None:
    world = ShareCluster(group_share_max_size="2")
    world.joined("one")
    world.joined("two")
    assert world.heartbeat("three", 0, ["t"]).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_new_subscription_brings_its_partitions() -> None:
    world = ShareCluster()
    one = world.joined("one")
    world.create(NewTopic("u", 2, 1))
    answer = world.heartbeat("one", one.member_epoch, ["t", "u"])
    for _ in range(20):
        if answer.assignment is not None and len(partitions(answer)) == 3:
            break
        world.advance(1000)
        world.settle()
        answer = world.heartbeat("one", answer.member_epoch, ["t", "u"])
    assert sorted(partitions(answer)) == [0, 0, 1]
