"""A share group is read out of its log as it was, whenever the broker is killed."""

from __future__ import annotations

from collections.abc import Iterator

from pykbroker.controller.topics import NewPartitions, NewTopic
from pykbroker.coordination.groups.share.group import ShareGroup
from pykbroker.tests.coordination.groups.share.test_targets import group_of
from pykbroker.tests.handlers.test_describe_share_group_offsets import alter, delete
from pykbroker.tests.kit.share_groups import ShareCluster
from pykbroker.tests.simulation.invariants import dump_group


def _life(world: ShareCluster) -> Iterator[None]:
    """What befalls a group; after each step it is looked at, killed and looked at again."""
    epoch = world.joined("one").member_epoch
    yield
    world.heartbeat("two", 0, ["t", "u"])
    yield
    world.create(NewTopic("u", 2, 1))
    world.heartbeat("two", 0, ["t", "u"])
    yield
    world.controller.create_partitions([NewPartitions("t", 5)])
    for _ in range(3):
        world.advance(1000)
        world.settle()
        epoch = world.heartbeat("one", epoch).member_epoch
    yield
    for name in ("one", "two"):
        world.heartbeat(name, -1)
        yield
    assert alter(world, "t", {0: 2, 4: 1}) == {0: 0, 4: 0}
    yield
    assert delete(world, "u") == {"u": 0}
    yield


def test_a_group_is_as_it_was_after_each_kill() -> None:
    world = ShareCluster(partitions=3)
    seen: list[tuple] = []
    for _ in _life(world):
        world.settle()
        before = dump_group(group_of(world))
        seen.append(before)
        world.restart(kill=True)
        world.advance(1)
        world.settle()
        assert dump_group(group_of(world)) == before, len(seen)
    assert isinstance(group_of(world), ShareGroup)
    assert len(seen) == 8
