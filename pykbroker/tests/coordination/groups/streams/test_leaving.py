"""Members of a streams group leave: for good, for now, by silence, and with the whole application."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.tests.kit.streams_groups import StreamsCluster, StreamsThread, settle
from pykbroker.wire.errors import ErrorCode

ALL = {(subtopology, index) for subtopology in "01" for index in range(3)}
SHUTDOWN = 4  # the status SHUTDOWN_APPLICATION


class Static(StreamsThread):
    """A member with an instance id, which is its name."""

    def joining(self) -> dict[str, Any]:
        return {**super().joining(), "instance_id": self.instance}

    @property
    def instance(self) -> str:
        return self.name.split("'", maxsplit=1)[0]


def test_who_leaves_is_gone_and_the_epoch_rises() -> None:
    world = StreamsCluster()
    one, two = StreamsThread(world, "a"), StreamsThread(world, "b")
    settle(one, two)
    before = world.described().group_epoch
    two.leave()
    assert (world.member_ids(), world.described().group_epoch) == ({"a"}, before + 1)
    settle(one)
    assert one.active == ALL
    assert two.ask(member_epoch=-1).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    one.leave()
    described = world.described()
    assert (described.group_state, described.assignment_epoch) == ("Empty", described.group_epoch)


def test_a_static_member_that_leaves_for_now_keeps_its_tasks() -> None:
    world = StreamsCluster()
    one, two = Static(world, "a"), StreamsThread(world, "b")
    settle(one, two)
    had, before = one.active, world.described().group_epoch
    assert one.ask(member_epoch=-2, instance_id="a").error_code == 0
    two.beat()
    assert (len(two.active), world.described().group_epoch) == (3, before)
    returned = Static(world, "a'")
    settle(returned, two)
    assert (returned.active, world.member_ids()) == (had, {"a'", "b"})


def test_a_static_member_that_does_not_return_is_fenced() -> None:
    world = StreamsCluster()
    one, two = Static(world, "a"), StreamsThread(world, "b")
    settle(one, two)
    assert one.ask(member_epoch=-2, instance_id="a").error_code == 0
    for _ in range(10):
        world.advance(5000)
        two.beat()
    settle(two)
    assert (world.member_ids(), two.active) == ({"b"}, ALL)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"member_epoch": -1, "instance_id": "other"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_epoch": -2}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_who_may_not_leave(fields: dict[str, Any], error: ErrorCode) -> None:
    world = StreamsCluster()
    one = StreamsThread(world, "a")
    settle(one)
    assert one.ask(**fields).error_code == error


def test_another_member_does_not_leave_for_an_instance() -> None:
    world = StreamsCluster()
    one, two = Static(world, "a"), StreamsThread(world, "b")
    settle(one, two)
    assert two.ask(member_epoch=-1, instance_id="a").error_code == ErrorCode.FENCED_INSTANCE_ID
    assert world.member_ids() == {"a", "b"}


def test_who_leaves_may_end_the_application() -> None:
    world = StreamsCluster()
    one, two = StreamsThread(world, "a"), StreamsThread(world, "b")
    settle(one, two)
    assert two.ask(member_epoch=-1, shutdown_application=True).error_code == 0
    told = one.beat()
    assert [each.status_code for each in told.status or []] == [SHUTDOWN]


def test_a_silent_member_is_fenced() -> None:
    world = StreamsCluster()
    one, two = StreamsThread(world, "a"), StreamsThread(world, "b")
    settle(one, two)
    for _ in range(10):
        world.advance(5000)
        one.beat()
    settle(one)
    assert (world.member_ids(), one.active) == ({"a"}, ALL)
    assert two.ask().error_code == ErrorCode.UNKNOWN_MEMBER_ID
