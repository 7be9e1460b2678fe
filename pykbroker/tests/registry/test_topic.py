"""The topic of the schema registry: what it writes and reads takes many turns where it is much."""

from __future__ import annotations

import asyncio

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.process.life import Lifetimes
from pykbroker.registry.errors import RegistryError
from pykbroker.registry.records import SchemaKey
from pykbroker.registry.topic import TOPIC, SchemasTopic
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.turns import MOST, CountedTask


def test_the_tombstones_of_many_versions_are_one_batch_that_is_written_in_turns() -> None:
    world = MemoryCluster()
    world.create(NewTopic(TOPIC, 1, 1))
    lifetimes = Lifetimes()
    lifetimes.begin(world.cluster)

    async def longest() -> int:
        topic = SchemasTopic(lifetimes, "BACKWARD")
        state = await topic.state()
        task = CountedTask(topic.append([(SchemaKey("a", number), None) for number in range(3000)], state))
        await task
        return task.longest

    assert asyncio.run(longest()) <= MOST // 5
    partition = world.partition(TOPIC, 0)
    assert [header.record_count for header, _ in partition.log.batches(0)] == [3000]


def test_nothing_is_written_for_a_life_that_has_ended() -> None:
    """A reset takes its logs away while a write is prepared in turns."""
    world = MemoryCluster()
    world.create(NewTopic(TOPIC, 1, 1))
    lifetimes = Lifetimes()
    lifetimes.begin(world.cluster)

    async def ended_meanwhile() -> None:
        topic = SchemasTopic(lifetimes, "BACKWARD")
        state = await topic.state()
        writing = asyncio.ensure_future(topic.append([(SchemaKey("a", each), None) for each in range(3000)], state))
        await asyncio.sleep(0)
        lifetimes.end(followed=True)
        with pytest.raises(RegistryError, match="stopping or being reset"):
            await writing

    asyncio.run(ended_meanwhile())
    assert not list(world.partition(TOPIC, 0).log.batches(0))
