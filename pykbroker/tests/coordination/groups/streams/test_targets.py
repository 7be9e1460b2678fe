"""When the target of a streams group is computed anew, and what is written of it."""

from __future__ import annotations

from pykbroker.coordination.groups.streams.group import StreamsGroup
from pykbroker.tests.coordination.groups.streams.test_leaving import Static
from pykbroker.tests.kit.streams_groups import STREAMS_GROUP, StreamsCluster, StreamsThread, settle


def group_of(world: StreamsCluster) -> StreamsGroup:
    shards = world.cluster.brokers[world.coordinator(STREAMS_GROUP)].groups.shards.loaded.values()
    (found,) = (loaded.shard.groups[STREAMS_GROUP] for loaded in shards if STREAMS_GROUP in loaded.shard.groups)
    assert isinstance(found, StreamsGroup)
    return found


def test_a_target_waits_for_the_interval() -> None:
    world = StreamsCluster()
    one = StreamsThread(world, "a")
    settle(one)
    world.advance(5000)
    world.configure("streams.assignment.interval.ms", "5000")
    two, three = StreamsThread(world, "b"), StreamsThread(world, "c")
    world.advance(1)
    target = group_of(world).target_epoch
    two.beat()
    assert group_of(world).target_epoch == target + 1
    three.beat()
    assert (group_of(world).facts.epoch, group_of(world).target_epoch) == (target + 2, target + 1)
    world.advance(4999)
    one.beat()
    assert group_of(world).target_epoch == target + 1
    world.advance(1)
    one.beat()
    assert group_of(world).target_epoch == target + 2
    settle(one, two, three)
    assert [len(each.active) for each in (one, two, three)] == [2, 2, 2]


def test_without_topics_there_is_a_target_with_nothing() -> None:
    world = StreamsCluster()
    thread = StreamsThread(world, "a")
    thread.beat()  # the internal topics are not there yet
    group = group_of(world)
    assert (group.target_epoch, group.target_of("a").active) == (group.facts.epoch, frozenset())
    settle(thread)
    assert len(group_of(world).target_of("a").active) == 6


def test_who_returns_under_another_name_has_the_target_at_once() -> None:
    world = StreamsCluster()
    one, two = Static(world, "a"), StreamsThread(world, "b")
    settle(one, two)
    had, epoch = group_of(world).target_of("a"), group_of(world).target_epoch
    assert one.ask(member_epoch=-2, instance_id="a").error_code == 0
    Static(world, "a'").beat()
    group = group_of(world)
    assert (group.target_of("a'"), group.targets.get("a")) == (had, None)
    assert group.target_epoch in (epoch, epoch + 1)
