"""ConsumerGroupHeartbeat through the dispatcher: a member with a pattern that asks again the moment that it is answered."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


@pytest.mark.parametrize(("topics", "known"), [(3, 1), (3000, 0)])
def test_the_second_heartbeat_has_what_a_pattern_matches_unless_that_takes_a_thread(topics: int, known: int) -> None:
    world = MemoryCluster(auto_create_topics_enable="false", group_consumer_assignment_interval_ms="0")
    world.create(*(NewTopic(f"t{number}", 1, 1) for number in range(topics)))
    joined = ConsumerGroupHeartbeatRequest("g", "m", 0, None, None, 1000, [], "t1", None, [])
    world.coordinator("g")
    waiting: list[Deferred[Any]] = []

    def never(*_: Any) -> Deferred[Any]:
        waiting.append(Deferred())
        return waiting[-1]

    world.cluster.runtime.offload_read = never
    assert world.ask(joined, 1).member_epoch == 1
    answer = world.ask(ConsumerGroupHeartbeatRequest("g", "m", 1, None, None, -1, [], None, None, []), 1)
    given = [] if answer.assignment is None else answer.assignment.topic_partitions
    assert (answer.error_code, len(given), bool(waiting)) == (0, known, not known)
