"""A streams group is read out of its log as it was, whenever the broker is killed."""

from __future__ import annotations

from collections.abc import Iterator

from pykbroker.controller.topics import NewPartitions
from pykbroker.tests.coordination.groups.streams.test_leaving import Static
from pykbroker.tests.coordination.groups.streams.test_targets import group_of
from pykbroker.tests.kit.streams_groups import INPUT, StreamsCluster, StreamsThread, settle
from pykbroker.tests.simulation.invariants import dump_group


def _life(world: StreamsCluster) -> Iterator[None]:
    """What befalls a group; after each step it is looked at, killed and looked at again."""
    one, two, three = StreamsThread(world, "a", "p"), Static(world, "b", "q"), StreamsThread(world, "c", "r")
    one.beat()
    yield
    settle(one)
    yield
    two.beat()
    yield
    one.beat()  # it gives up tasks
    yield
    settle(one, two)
    yield
    settle(one, two, three)
    yield
    world.controller.create_partitions([NewPartitions(INPUT, 5)])
    one.beat()
    yield
    assert two.ask(member_epoch=-2, instance_id="b").error_code == 0
    yield
    back = Static(world, "b'", "q")
    back.beat()
    yield
    three.leave()
    yield
    one.leave()
    yield


def test_a_group_is_as_it_was_after_each_kill() -> None:
    world = StreamsCluster(standbys=1)
    seen: list[tuple] = []
    for _ in _life(world):
        world.settle()
        before = dump_group(group_of(world))
        assert before not in seen[-1:], len(seen)
        seen.append(before)
        world.restart(kill=True)
        world.advance(1)
        world.settle()
        assert dump_group(group_of(world)) == before, len(seen)
    assert len(seen) == 11
