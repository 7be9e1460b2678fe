"""Targets of large groups, which a thread computes: no heartbeat takes long, and members get their partitions with later ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.coordination.groups.assigning import target_records
from pykbroker.coordination.groups.consumer.records import target_epoch_record, target_record
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.turns import MOST, Counted, in_a_thread
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.message import Message
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pykbroker.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Subtopology, Topology

TOPICS = 300
ALL = [f"topic-{number}" for number in range(TOPICS)]
HALF = ALL[: TOPICS // 2]
MEMBERS = 60


def world_of(partitions: int, interval_ms: int = 0) -> Counted:
    world = Counted(auto_create_topics_enable="false", group_consumer_assignment_interval_ms=str(interval_ms))
    world.traced = False
    world.create(*(NewTopic(name, partitions, 1) for name in ALL))
    world.coordinator("g")
    return world


def beat(world: Counted, member: str, epoch: int, names: list[str] | None) -> Any:
    owns = None if names is None else []
    timeout = -1 if names is None else 60_000
    request = ConsumerGroupHeartbeatRequest(
        "g", member, epoch, rebalance_timeout_ms=timeout, subscribed_topic_names=names, topic_partitions=owns
    )
    answer = world.post(request, 1)
    while not answer.done:
        world.run_turn()
    return answer.value


def count(answer: Any) -> int:
    return 0 if answer.assignment is None else sum(len(each.partitions) for each in answer.assignment.topic_partitions)


def group(world: Counted) -> Any:
    return next(
        loaded.shard.groups["g"] for loaded in world.broker.groups.shards.loaded.values() if "g" in loaded.shard.groups
    )


def test_no_heartbeat_of_a_large_group_is_long() -> None:
    world = world_of(6, interval_ms=10_000)
    for number in range(MEMBERS):
        beat(world, f"m{number}", 0, ALL if number % 2 else HALF)
    world.advance(20_000)
    runtime = world.cluster.runtime
    runtime.offload_read = runtime.offload = partial(in_a_thread, runtime)
    world.counts = world.traced = True
    answer = beat(world, "last", 0, ALL)
    for _ in range(5):
        world.run_turn()
    assert world.longest <= MOST
    assert answer
    present = group(world)
    assert present.epoch == present.target_epoch
    assert sum(len(some) for target in present.targets.values() for some in target.values()) == 6 * TOPICS


class Held:
    """A thread that does what it is asked for when the test says so."""

    def __init__(self, world: Counted) -> None:
        self.asked: list[tuple[Any, Deferred[Any]]] = []
        world.cluster.runtime.offload_read = self

    def __call__(self, function: Any, *args: Any) -> Deferred[Any]:
        result: Deferred[Any] = Deferred()
        self.asked.append((partial(function, *args), result))
        return result

    def work(self) -> None:
        (work, result), self.asked = self.asked[0], self.asked[1:]
        try:
            found = work()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            result.fail(error)
        else:
            result.complete(found)


def test_members_get_the_target_with_later_heartbeats() -> None:
    world = world_of(8)
    held = Held(world)
    assert count(beat(world, "a", 0, ALL)) == 0
    assert count(beat(world, "a", 1, None)) == 0
    assert len(held.asked) == 1  # one at a time
    held.work()
    answer = beat(world, "a", 1, None)
    assert (answer.member_epoch, count(answer)) == (2, 8 * TOPICS)


def test_a_member_that_leaves_meanwhile_gets_nothing_and_the_others_get_all_with_the_next_target() -> None:
    world = world_of(8)
    held = Held(world)
    for name in "ab":
        beat(world, name, 0, ALL)
    held.work()
    beat(world, "a", 1, None)  # the second member has raised the epoch
    assert len(held.asked) == 1
    beat(world, "b", -1, None)
    held.work()
    assert group(world).targets.keys() == {"a"}
    beat(world, "a", group(world).members["a"].epoch, None)
    held.work()
    present = group(world)
    assert present.epoch == present.target_epoch
    assert sum(map(len, present.targets["a"].values())) == 8 * TOPICS
    assert not held.asked


def test_a_group_that_ends_meanwhile_is_not_made_again() -> None:
    world = world_of(8)
    held = Held(world)
    beat(world, "a", 0, ALL)
    beat(world, "a", -1, None)
    world.restart()
    held.work()
    with pytest.raises(StopIteration):
        group(world)


def test_another_group_of_the_name_does_not_get_the_target_of_the_former_one() -> None:
    world = world_of(8)
    beat(world, "a", 0, ALL[:1])
    for names in (ALL[:2], ALL[:3]):
        beat(world, "a", group(world).members["a"].epoch, names)
    held = Held(world)
    beat(world, "a", group(world).members["a"].epoch, ALL)
    beat(world, "a", -1, None)
    answer = world.ask(DeleteGroupsRequest(["g"]), 2)
    assert [each.error_code for each in answer.results] == [ErrorCode.NONE]
    beat(world, "a", 0, ALL[:1])
    begun = group(world)
    before = begun.epoch, begun.target_epoch
    held.work()
    for _ in range(3):
        world.run_turn()
    assert group(world) is begun
    assert (begun.epoch, begun.target_epoch) == before
    assert sum(map(len, begun.targets["a"].values())) == 8


def test_a_target_that_cannot_be_computed_is_asked_for_again(caplog: pytest.LogCaptureFixture) -> None:
    world = world_of(8)
    held = Held(world)
    beat(world, "a", 0, ALL)
    _, result = held.asked.pop()
    result.fail(RuntimeError("no thread"))
    assert "failed to compute a new target assignment for epoch 2: no thread" in caplog.text
    assert beat(world, "a", 1, None).error_code == ErrorCode.NONE
    held.work()
    assert group(world).target_epoch == 2


#: Of each of two topics; a topic of more is created by several changes.
WIDE = 1100
#: Of a heartbeat, for each partition of a topic; with the assignor 41 and 101.
LINES = 5


def wide(**settings: str) -> Counted:
    """A cluster with the topics ``w0`` and ``w1``, and targets without an interval between them."""
    world = Counted(auto_create_topics_enable="false", **settings)
    world.traced = False
    world.create(NewTopic("w0", WIDE, 1), NewTopic("w1", WIDE, 1))
    world.coordinator("g")
    return world


def asked(world: Counted, request: Message, version: int) -> Any:
    """The answer, decoded, of a turn that is counted if others are."""
    answer = world.post(request, version)
    while not answer.done:
        world.run_turn()
    return answer.value


def stream(member: str, epoch: int) -> StreamsGroupHeartbeatRequest:
    if epoch:
        return StreamsGroupHeartbeatRequest("g", member, epoch)
    topology = Topology(0, [Subtopology("0", ["w0"]), Subtopology("1", ["w1"])])
    return StreamsGroupHeartbeatRequest(
        "g", member, 0, rebalance_timeout_ms=60_000, topology=topology, active_tasks=[], standby_tasks=[], warmup_tasks=[], process_id=member
    )  # fmt: skip


def share(member: str, epoch: int) -> ShareGroupHeartbeatRequest:
    return ShareGroupHeartbeatRequest("g", member, epoch, None, None if epoch else ["w0", "w1"])


def of_kind(kind: str) -> tuple[Counted, Any, int, Any]:
    """A cluster whose group has one member with all there is, its heartbeats by member and epoch, their version, and the last answer."""
    request, version = (share, 1) if kind == "share" else (stream, 0)
    world = wide(
        group_streams_initial_rebalance_delay_ms="0",
        group_streams_assignment_interval_ms="0",
        group_share_assignment_interval_ms="0",
    )
    answer = asked(world, request("a", 0), version)
    for _ in range(3):
        for _ in range(100):  # the share coordinator makes the state of the partitions
            world.run_turn()
        answer = asked(world, request("a", answer.member_epoch), version)
    assert size(group(world).targets["a"]) == 2 * WIDE
    return world, request, version, answer


@pytest.mark.parametrize("kind", ["share", "streams"])
def test_the_assignor_of_a_large_group_of_another_kind_does_not_hold_the_loop(kind: str) -> None:
    world, request, version, answer = of_kind(kind)
    former = group(world).target_epoch
    assert former == epoch_of(world)
    held = Held(world)
    world.traced, world.longest = True, 0
    assert asked(world, request("b", 0), version).error_code == ErrorCode.NONE
    assert world.longest <= WIDE * LINES
    world.traced = False
    asked(world, request("a", answer.member_epoch), version)
    assert len(held.asked) == 1  # one at a time
    assert group(world).target_epoch == former < epoch_of(world)
    assert not group(world).may_assign(epoch_of(world))  # nothing is gathered for a second one
    held.work()
    present = group(world)
    assert present.target_epoch == epoch_of(world)
    assert {size(target) for target in present.targets.values()} == {WIDE}
    assert not held.asked


@pytest.mark.parametrize(("kind", "left"), [("share", WIDE), ("streams", 0)])
def test_a_topic_that_is_deleted_meanwhile_is_in_no_later_target(kind: str, left: int) -> None:
    """The tasks of a topology that lacks a topic are nobody's."""
    world, request, version, _ = of_kind(kind)
    held = Held(world)
    asked(world, request("b", 0), version)
    world.delete_topic("w1")
    held.work()
    for _ in range(4):
        for member in "ab":
            answer = asked(world, request(member, group(world).members[member].epoch), version)
            assert answer.error_code == ErrorCode.NONE
            if held.asked:
                held.work()
    present = group(world)
    assert present.target_epoch == epoch_of(world)
    assert sum(size(target) for target in present.targets.values()) == left


def test_a_target_that_stays_is_not_written_again() -> None:
    world = world_of(1)
    beat(world, "a", 0, ALL[:1])
    topic = world.image.topics[ALL[0]].id
    present = group(world)
    given = {"a": {topic: frozenset({0})}, "b": {topic: frozenset({1})}}
    written = target_records(target_record, target_epoch_record, present, 9, given)
    assert [getattr(each.key, "member_id", None) for each in written] == ["b", None]
    written = target_records(target_record, target_epoch_record, present, 9, given, known={"b": given["b"]})
    assert [getattr(each.key, "member_id", None) for each in written] == ["a", None]


def epoch_of(world: Counted) -> int:
    """The group epoch."""
    present = group(world)
    found: int = present.facts.epoch if hasattr(present, "facts") else present.epoch
    return found


def size(target: Any) -> int:
    """The partitions of a share group's target, or the tasks of a streams group's."""
    return sum(map(len, target.values() if isinstance(target, dict) else target))
