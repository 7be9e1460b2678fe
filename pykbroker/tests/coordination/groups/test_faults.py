"""What befalls the log under the group coordinator: a full disk, or too few replicas in sync. Requests of both protocols
are refused with Kafka's codes, nothing has changed, and they are carried out when it is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pykbroker.tests.kit.cluster import GROUP
from pykbroker.tests.kit.groups import GroupCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pykbroker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

#: Offsets that are removed in slices.
MANY = 50


class FaultyWorld(GroupCluster):
    """Two brokers, both replicas of every log, and both needed; one leads all groups."""

    def __init__(self) -> None:
        super().__init__(
            brokers=2,
            offsets_topic_num_partitions="1",
            offsets_topic_replication_factor="2",
            min_insync_replicas="2",
        )
        self.topic(partitions=MANY)
        self.commit({("t", 0): 5}, group="left")
        self.commit({("t", index): 5 for index in range(MANY)}, group="large")

    def known(self) -> tuple[Any, ...]:
        """All that is known of the groups, from outside."""
        classic = self.ask(DescribeGroupsRequest([GROUP]), 5).groups[0]
        offsets = [self.committed(group) for group in ("left", "large", "new")]
        return self.described(), classic, self.committed(), *offsets

    @contextmanager
    def nothing_is_written(self) -> Iterator[ErrorCode]:
        with self.full_disk():
            yield ErrorCode.NOT_COORDINATOR

    @contextmanager
    def too_few_replicas(self) -> Iterator[ErrorCode]:
        """The broker that leads no group stops, and comes back."""
        with self.without(3 - self.coordinator(GROUP)):
            yield ErrorCode.COORDINATOR_NOT_AVAILABLE


class OfConsumers(FaultyWorld):
    """GROUP is of the consumer protocol."""

    def __init__(self) -> None:
        super().__init__()
        self.enter("one")
        self.commit({("t", 0): 5}, version=9, member_id="one", generation=2)

    def newcomer_enters(self) -> int:
        return self.enter("two").error_code

    def member_leaves(self) -> int:
        return self.ask(ConsumerGroupHeartbeatRequest(GROUP, "one", -1), 1).error_code

    def member_is_removed(self) -> int:
        return self.ask(LeaveGroupRequest(GROUP, members=[MemberIdentity("one")]), 5).error_code

    def member_commits(self) -> int:
        return self.commit({("t", 0): 6}, version=9, member_id="one", generation=2)["t", 0]


class OfClassicMembers(FaultyWorld):
    """GROUP is a classic one, stable, of one member."""

    def __init__(self) -> None:
        super().__init__()
        self.one = self.member()
        self.commit({("t", 0): 5}, version=9, member_id=self.one, generation=1)

    def newcomer_begins_a_group(self) -> int:
        return self.join(group="new").value.error_code

    def member_commits(self) -> int:
        return self.commit({("t", 0): 6}, version=9, member_id=self.one, generation=1)["t", 0]

    def nobody_commits(self) -> int:
        return self.commit({("t", 0): 6}, group="new")["t", 0]

    def group_is_deleted(self) -> int:
        return self.ask(DeleteGroupsRequest(["left"]), 2).results[0].error_code

    def large_group_is_deleted(self) -> int:
        return self.ask(DeleteGroupsRequest(["large"]), 2).results[0].error_code

    def offset_is_deleted(self) -> int:
        topics = [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(0)])]
        return self.ask(OffsetDeleteRequest("left", topics), 0).error_code


FAULTS = [FaultyWorld.nothing_is_written, FaultyWorld.too_few_replicas]
REQUESTS: list[Callable[[Any], int]] = [
    request
    for world in (OfConsumers, OfClassicMembers)
    for name, request in vars(world).items()
    if not name.startswith("_")
]


def made_for(request: Callable[[Any], int]) -> FaultyWorld:
    return OfConsumers() if request.__qualname__.startswith("OfConsumers") else OfClassicMembers()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("asked", REQUESTS, ids=lambda asked: asked.__qualname__)
def test_refused_and_carried_out_later(asked, fault):
    world = made_for(asked)
    before = world.known()
    with fault(world) as code:
        assert ErrorCode(asked(world)) is code
        assert world.known() == before
    world.restart(kill=True)
    assert world.known() == before
    assert ErrorCode(asked(world)) in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_an_assignment_that_is_lost_is_told_and_made_again(fault):
    world = OfClassicMembers()

    def rebalance() -> ErrorCode:
        joining = world.join(world.one)
        world.advance(0)
        generation = joining.value.generation_id
        given = [SyncGroupRequestAssignment(world.one, b"other")]
        return ErrorCode(world.ask(SyncGroupRequest(GROUP, generation, world.one, assignments=given), 3).error_code)

    with fault(world) as code:
        assert rebalance() is code
        assert world.ask(DescribeGroupsRequest([GROUP]), 5).groups[0].group_state == "PreparingRebalance"
    assert rebalance() is ErrorCode.NONE
    assert world.ask(DescribeGroupsRequest([GROUP]), 5).groups[0].group_state == "Stable"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_silent_member_is_fenced_when_that_can_be_written(fault):
    world = OfConsumers()
    with fault(world):
        world.advance(45_000)
        assert len(world.described().members) == 1
    world.advance(500)
    assert world.described().group_state == "Empty"


def test_no_thread_to_sync_in_leaves_nobody_waiting() -> None:
    """Neither the commit that the sync was for nor the next one."""
    world = GroupCluster(offsets_topic_num_partitions="1", log_flush_interval_messages="1")
    world.topic(partitions=1)
    assert world.commit({("t", 0): 1}) == {("t", 0): ErrorCode.NONE}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(world.cluster.runtime, "offload", no_thread)
        assert world.commit({("t", 0): 2}) == {("t", 0): ErrorCode.NOT_COORDINATOR}
    assert world.commit({("t", 0): 3}) == {("t", 0): ErrorCode.NONE}


def no_thread(*_: Any) -> Any:
    raise RuntimeError("can't start new thread")
