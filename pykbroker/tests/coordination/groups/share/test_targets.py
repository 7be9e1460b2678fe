"""When a share group's target is computed anew, and what is in it."""

from __future__ import annotations

from pykbroker.controller.topics import NewTopic
from pykbroker.coordination.groups.share.group import ShareGroup
from pykbroker.tests.kit.share_groups import SHARE_GROUP, ShareCluster


def group_of(world: ShareCluster) -> ShareGroup:
    shards = world.cluster.brokers[world.coordinator(SHARE_GROUP)].groups.shards.loaded.values()
    (found,) = (loaded.shard.groups[SHARE_GROUP] for loaded in shards if SHARE_GROUP in loaded.shard.groups)
    assert isinstance(found, ShareGroup)
    return found


def test_a_target_is_not_computed_again_within_the_interval() -> None:
    world = ShareCluster(partitions=4)
    world.configure("share.assignment.interval.ms", "5000")
    one = world.joined("one")
    world.advance(5000)
    target = group_of(world).target_epoch
    two = world.heartbeat("two", 0, ["t"])  # the interval is over
    assert (group_of(world).target_epoch, two.member_epoch) == (target + 1, target + 1)
    three = world.heartbeat("three", 0, ["t"])
    assert (group_of(world).epoch, group_of(world).target_epoch) == (target + 2, target + 1)
    assert three.assignment.topic_partitions == []
    world.advance(4999)
    world.heartbeat("one", one.member_epoch)
    assert group_of(world).target_epoch == target + 1
    world.advance(1)
    answer = world.heartbeat("three", three.member_epoch)
    assert group_of(world).target_epoch == target + 2
    assert answer.assignment.topic_partitions != []


def test_without_an_interval_each_epoch_has_its_target() -> None:
    world = ShareCluster(partitions=4)
    world.configure("share.assignment.interval.ms", "0")
    world.joined("one")
    for name in ("two", "three"):
        world.heartbeat(name, 0, ["t"])
        group = group_of(world)
        assert group.target_epoch == group.epoch
        assert name in group.targets


def test_a_target_has_initialized_partitions_of_subscribed_topics_only() -> None:
    world = ShareCluster(partitions=2)
    world.create(NewTopic("u", 1, 1))
    world.joined("one")
    group = group_of(world)
    (topic_id,) = group.targets["one"]
    assert (topic_id, group.targets["one"][topic_id]) == (world.topic_id, frozenset({0, 1}))
    answer = world.heartbeat("one", group.members["one"].epoch, ["u"])  # u has no state yet
    assert answer.assignment.topic_partitions == []
