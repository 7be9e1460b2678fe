"""Internal topics of Streams applications: created once, and errors are told for a while."""

from __future__ import annotations

import logging

import pytest

from pykbroker.brokers.streams_topics import StreamsTopics
from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.cluster import MemoryCluster


def started() -> tuple[MemoryCluster, StreamsTopics]:
    world = MemoryCluster()
    return world, world.broker.streams_topics


def test_topics_are_created_with_their_settings() -> None:
    world, topics = started()
    topics.create([NewTopic("a", 3, 1, configs={"cleanup.policy": "compact"}), NewTopic("b", 1, 1)], None, 1000)
    world.settle()
    assert len(world.image.topics["a"].partitions) == 3
    assert {"a", "b"} <= world.image.topics.keys()
    assert topics.error("a") is None


def test_what_is_being_created_is_not_created_again() -> None:
    world, topics = started()
    threads = world.hold_threads()
    for _ in range(3):  # every member asks with every heartbeat
        topics.create([NewTopic("a", 3, 1)], None, 1000)
    assert "a" not in world.image.topics
    threads.let_go()
    world.settle()
    assert (len(world.image.topics["a"].partitions), topics.error("a")) == (3, None)


def test_an_error_is_told_for_a_while_and_only_then_is_it_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    world, topics = started()
    with caplog.at_level(logging.WARNING, "pykbroker.brokers.streams_topics"):
        topics.create([NewTopic("a", 1, 5), NewTopic("b", 1, 1)], None, 1000)
        world.settle()
        assert "replication factor" in (topics.error("a") or "").lower()
        assert "b" in world.image.topics
        topics.create([NewTopic("a", 1, 1)], None, 1000)
        world.settle()
        assert "a" not in world.image.topics
        assert len(caplog.records) == 1
    world.advance(1000)
    assert topics.error("a") is None
    topics.create([NewTopic("a", 1, 1)], None, 1000)
    world.settle()
    assert "a" in world.image.topics


def test_one_heartbeat_creates_no_more_than_a_few_hundred() -> None:
    world, topics = started()
    topics.create([NewTopic(f"t-{number}", 1, 1) for number in range(510)], None, 1000)
    while "t-499" not in world.image.topics:
        world.settle()
        world.advance(10)
    assert "t-500" not in world.image.topics


def test_no_more_errors_are_kept_than_a_thousand(caplog: pytest.LogCaptureFixture) -> None:
    world, topics = started()
    with caplog.at_level(logging.CRITICAL, "pykbroker.brokers.streams_topics"):
        for first in range(0, 1200, 400):
            topics.create([NewTopic(f"t-{number}", 1, 5) for number in range(first, first + 400)], None, 100_000)
            world.settle()
    known = [number for number in range(1200) if topics.error(f"t-{number}") is not None]
    assert known == list(range(200, 1200))
