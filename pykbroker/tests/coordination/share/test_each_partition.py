"""Questions about many partitions of a group, to a share coordinator whose logs are not there yet."""

from __future__ import annotations

from itertools import pairwise

from pykbroker.coordination.share.each_partition import ask_each
from pykbroker.metadata.names import SHARE_GROUP_STATE
from pykbroker.tests.kit.share_groups import ShareCluster

PARTITIONS = 200


def test_few_logs_are_created_in_a_turn() -> None:
    """Each takes half a millisecond; they lie in as many partitions of the coordinator's topic as their names say."""
    world = ShareCluster(partitions=PARTITIONS)
    states = world.broker.share_states
    world.finished(world.cluster.auto_creation.create([SHARE_GROUP_STATE]))
    topics = {world.topic_id: frozenset(range(PARTITIONS))}
    work = ask_each("s", topics, lambda key: states.initialize(key, 0, 0))
    asking = world.cluster.runtime.slices.run(work)
    opened = [_opened(world)]
    while not asking.done:
        world.run_turn()
        opened.append(_opened(world))
    assert set(asking.value.values()) == {None}
    assert 0 < max(after - before for before, after in pairwise(opened)) <= 9


def _opened(world: ShareCluster) -> int:
    return sum(each.opened_log is not None for each in world.cluster.store.table.by_id.values())
