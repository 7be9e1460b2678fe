"""A topic of many open logs is deleted: nobody waits for all its files, and none of them comes back under its name."""

from __future__ import annotations

import random

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.partitions.internal_records import append_internal
from pykbroker.tests.kit.cluster import MemoryCluster

WIDTH = 300


def wide(world: MemoryCluster) -> bytes:
    """A topic with a record in each of its partitions; its id."""
    world.create(NewTopic("w", WIDTH, 1))
    for index in range(WIDTH):
        append_internal(world.cluster.partition("w", index), [(None, b"old")], 1)
    return world.cluster.metadata.image.topic("w").id


def directories(world: MemoryCluster) -> list[str]:
    """Those of the topic that still have its name."""
    return [name for name in world.disk.list("/data") if name.startswith("w-") and "." not in name]


def test_files_go_some_in_a_turn_and_nobody_finds_the_topic():
    world = MemoryCluster()
    topic_id = wide(world)
    world.cluster.controller.delete_topics([topic_id])
    assert list(world.cluster.partitions()) == []
    assert len(directories(world)) == WIDTH
    world.cluster.runtime.wake_queue.run()
    assert 0 < len(directories(world)) < WIDTH
    while len(world.cluster.runtime.slices):
        world.cluster.runtime.wake_queue.run()
    assert directories(world) == []


def test_a_topic_that_is_made_again_at_once_has_none_of_the_old_files():
    world = MemoryCluster()
    world.cluster.controller.delete_topics([wide(world)])
    world.cluster.controller.create_topics([NewTopic("w", 3, 1)])
    for index in range(3):
        partition = world.cluster.partition("w", index)
        assert (partition.log_start_offset, partition.log_end_offset) == (0, 0)
        append_internal(partition, [(None, b"new")], 1)
    while len(world.cluster.runtime.slices):
        world.cluster.runtime.wake_queue.run()
    assert sorted(directories(world)) == ["w-0", "w-1", "w-2"]
    assert [world.cluster.partition("w", index).log_end_offset for index in range(3)] == [1, 1, 1]


def test_a_topic_that_a_controller_elsewhere_makes_again_has_none_of_the_old_files():
    """Nobody makes room before the change is committed."""
    world = MemoryCluster()
    topic_id = wide(world)
    world.cluster.local_controller.prepare_with(lambda _: None)
    world.cluster.controller.delete_topics([topic_id])
    world.cluster.controller.create_topics([NewTopic("w", 3, 1)])
    for index in range(3):
        append_internal(world.cluster.partition("w", index), [(None, b"new")], 1)
    world.settle()
    assert sorted(directories(world)) == ["w-0", "w-1", "w-2"]
    assert [world.cluster.partition("w", index).log_end_offset for index in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("how", ["stop", "kill", "power"])
@pytest.mark.deep(but=1)
def test_what_was_not_put_aside_when_the_process_ended_does_not_come_back(how):
    world = MemoryCluster()
    world.cluster.controller.delete_topics([wide(world)])
    world.cluster.runtime.wake_queue.run()
    if how == "stop":
        world.cluster.shutdown()
        assert directories(world) == []
    elif how == "power":
        world.disk.crash(random.Random(1))
    world.start()
    if how != "power":  # which may leave a directory without a file
        assert directories(world) == []
    world.create(NewTopic("w", WIDTH, 1))
    assert [world.cluster.partition("w", index).log_end_offset for index in range(WIDTH)] == [0] * WIDTH


def test_files_that_cannot_be_put_aside_keep_no_others(monkeypatch, caplog):
    world = MemoryCluster()
    topic_id = wide(world)
    delete = world.cluster.logs.delete

    def fail_once(log):
        if log.partition == 3:
            raise RuntimeError("unforeseen")
        delete(log)

    monkeypatch.setattr(world.cluster.logs, "delete", fail_once)
    world.cluster.controller.delete_topics([topic_id])
    world.settle()
    assert directories(world) == ["w-3"]
    assert "Files of deleted partition w-3 cannot be removed" in caplog.text
