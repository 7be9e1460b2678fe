"""No turn of the loop is long where there is much of something: offsets of a group, groups, members, partitions, batches, sessions.

``test_longest_turn.py`` has requests that name much; here a small request, or none, has much to do. Executed lines are counted.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.turns import MOST, Counted, in_a_thread
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.message import Message
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

#: Turns in which anything ends.
TURNS = 2000


def begin(world: Counted) -> None:
    """Count from now on."""
    world.counts = world.traced = True
    world.longest = 0
    world.cluster.runtime.offload_read = world.cluster.runtime.offload = partial(in_a_thread, world.cluster.runtime)


def quiet(world: Counted) -> Counted:
    """A cluster that is made ready: nothing is counted yet."""
    world.traced = False
    return world


def run(world: Counted, turns: int = 50) -> None:
    """Turns in which what was begun ends."""
    for _ in range(turns):
        world.run_turn()


def answered(world: Counted, request: Message, version: int) -> Any:
    """The answer, after as many turns as it takes, and some more."""
    waiting = world.post(request, version)
    for _ in range(TURNS):
        if waiting.done:
            break
        world.run_turn()
    run(world)
    assert waiting.done
    return waiting.value


def commit(world: Counted, group: str, count: int) -> None:
    """Offsets of the topic ``wide``."""
    partitions = [OffsetCommitRequestPartition(index, 7) for index in range(count)]
    answered(world, OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic("wide", partitions=partitions)]), 8)


def with_offsets(count: int) -> Counted:
    """A cluster with a group that has so many offsets."""
    world = quiet(Counted(auto_create_topics_enable="false"))
    world.create(NewTopic("wide", count, 1))
    world.coordinator("g")
    commit(world, "g", count)
    return world


def test_a_group_of_many_offsets_is_deleted() -> None:
    world = with_offsets(9000)
    begin(world)
    answered(world, DeleteGroupsRequest(["g"]), 2)
    assert world.longest <= MOST
    world.counts = False
    assert world.committed("g") == {}
    assert answered(world, DeleteGroupsRequest(["g"]), 2).results[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND


def deleting(world: Counted) -> Any:
    """A deletion of the group that is under way, and the wait for its answer."""
    waiting = world.post(DeleteGroupsRequest(["g"]), 2)
    run(world, 2)
    assert not waiting.done
    return waiting


def test_nobody_sees_a_part_of_the_offsets_of_a_group_that_is_being_deleted() -> None:
    world = with_offsets(3000)
    waiting = deleting(world)
    assert world.committed("g") == {}
    run(world)
    assert waiting.value.results[0].error_code == ErrorCode.NONE
    assert world.committed("g") == {}


def test_what_is_committed_while_a_group_is_being_deleted_is_seen_until_that_ends() -> None:
    world = with_offsets(3000)
    waiting = deleting(world)
    world.post(
        OffsetCommitRequest(
            "g", topics=[OffsetCommitRequestTopic("wide", partitions=[OffsetCommitRequestPartition(5, 9)])]
        ),
        8,
    )
    assert world.committed("g") == {("wide", 5): 9}
    run(world)
    assert waiting.value.results[0].error_code == ErrorCode.NONE
    assert world.committed("g") == {}


def test_a_group_that_members_join_while_it_is_being_deleted_begins_anew() -> None:
    world = with_offsets(3000)
    waiting = deleting(world)
    joined = world.post(join("g"), 3)
    run(world)
    assert joined.value.error_code == ErrorCode.NONE
    assert waiting.value.results[0].error_code == ErrorCode.NONE
    assert world.committed("g") == {}


def test_offsets_of_a_group_that_could_not_be_deleted_are_seen_again() -> None:
    world = with_offsets(3000)
    waiting = deleting(world)
    with world.full_disk():
        run(world)
    assert waiting.value.results[0].error_code == ErrorCode.NOT_COORDINATOR
    left = world.committed("g")
    assert 0 < len(left) < 3000


def join(group: str) -> JoinGroupRequest:
    return JoinGroupRequest(group, 60_000, 60_000, "", None, "connect", [JoinGroupRequestProtocol("p", b"")])


def test_a_coordinator_of_many_groups_moves() -> None:
    """All members that wait there are answered: here one of each group for its rebalance."""
    world = quiet(Counted(brokers=2, offsets_topic_num_partitions="1", offsets_topic_replication_factor="2"))
    broker = world.coordinator("g")
    for _ in range(2):
        waiting = [MemoryCluster.post(world, join(f"g{number}"), 3, broker=broker) for number in range(4000)]
        world.settle()
    assert not any(each.done for each in waiting)
    begin(world)
    with world._turn():
        world.controller.move_leader("__consumer_offsets", 0, 3 - broker)
    run(world, 100)
    assert all(each.done for each in waiting)
    assert world.longest <= 2.5 * MOST  # the replies of one turn, and what its new coordinator loads in it
