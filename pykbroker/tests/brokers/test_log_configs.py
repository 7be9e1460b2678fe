"""What logs have by the settings of their topics, and of the broker."""

from __future__ import annotations

from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE
from pykbroker.storage.log.config import LogConfig
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.metadata import alter


def config(world: MemoryCluster, topic: str) -> LogConfig:
    world.settle()
    return world.partition(topic).log.config


def test_logs_have_the_same_object_where_topics_have_the_same_settings() -> None:
    world = MemoryCluster()
    same = {"retention.ms": "1000"}
    world.create(*(NewTopic(name, 2, 1, configs=dict(same)) for name in "ab"), NewTopic("c", 1, 1))
    logs = [world.partition(name, index).log for name in "ab" for index in range(2)]
    assert {id(log.config) for log in logs} == {id(logs[0].config)}
    assert logs[0].config.retention_ms == 1000
    assert config(world, "c").retention_ms == LogConfig().retention_ms


def test_none_keeps_what_was_before_an_alteration() -> None:
    """Of its topic, of all brokers or of this one; nor has a topic that is made again what the one before had."""
    world = MemoryCluster()
    world.create(NewTopic("open", 1, 1), NewTopic("closed", 1, 1), NewTopic("own", 1, 1, configs={"retention.ms": "5"}))
    assert config(world, "open").retention_ms == LogConfig().retention_ms
    for node, retention in (("", 1000), ("1", 2000)):
        alter(world.controller, BROKER_RESOURCE, node, log_retention_ms=str(retention))
        world.create(NewTopic(f"new{node}", 1, 1))
        assert [config(world, name).retention_ms for name in ("open", f"new{node}", "own")] == [retention, retention, 5]
    assert config(world, "closed").retention_ms == 2000
    alter(world.controller, TOPIC_RESOURCE, "own", retention_ms="7")
    assert config(world, "own").retention_ms == 7
    alter(world.controller, TOPIC_RESOURCE, "own", retention_ms=None)
    assert config(world, "own").retention_ms == 2000
    world.delete_topic("own")
    world.create(NewTopic("own", 1, 1, configs={"retention.ms": "9"}))
    assert [config(world, name).retention_ms for name in ("own", "open")] == [9, 2000]
