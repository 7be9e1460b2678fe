"""Requests with many items: parts, and the connection that waits."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pykbroker.handlers.in_slices import AT_ONCE, in_parts, is_small, join_parts
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.cluster import MemoryCluster, Peer
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)


@dataclass
class Topic:
    name: int
    partitions: list[int] = field(default_factory=list)


@given(st.lists(st.integers(0, 3 * AT_ONCE), max_size=8))
def test_parts_are_small_and_are_joined_to_what_they_were(sizes: list[int]) -> None:
    topics = [Topic(name, list(range(size))) for name, size in enumerate(sizes)]
    parts = list(in_parts(topics))
    joined: list[Topic] = []
    for part in parts:
        assert is_small(part)
        join_parts(joined, [Topic(topic.name, list(topic.partitions)) for topic in part], lambda topic: topic.name)
    assert joined == topics
    assert len(parts) <= 1 + 2 * (sum(sizes) + len(sizes)) // AT_ONCE


class HeldPeer(Peer):
    """Counts what it is told to wait for."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[Deferred[Any]] = []

    def hold(self, until: Deferred[Any]) -> None:
        self.held.append(until)


def test_a_connection_waits_for_a_request_with_many_items_alone() -> None:
    world = MemoryCluster()
    world.coordinator("g")
    peer = HeldPeer()
    assert world.post(DeleteGroupsRequest(["a", "b"]), 2, peer=peer).done
    assert not peer.held
    answer = world.post(DeleteGroupsRequest([f"g{number}" for number in range(1000)]), 2, peer=peer)
    assert [each.done for each in peer.held] == [False]
    for _ in range(100):
        world.run_turn()
    assert [each.done for each in peer.held] == [True]
    assert [result.group_id for result in answer.value.results] == [f"g{number}" for number in range(1000)]


def test_a_large_commit_is_made_in_parts_and_is_whole_when_it_is_answered() -> None:
    world = MemoryCluster()
    world.topic("t", partitions=900)
    world.coordinator("g")
    order = list(range(1000))
    random.Random(1).shuffle(order)
    partitions = [OffsetCommitRequestPartition(index, 1000 + index) for index in order]
    request = OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic("t", partitions=partitions)])
    waiting = world.post(request, 8)
    assert not waiting.done
    for _ in range(100):
        world.run_turn()
    (topic,) = waiting.value.topics
    assert sorted(each.partition_index for each in topic.partitions if each.error_code == 3) == list(range(900, 1000))
    assert [each.partition_index for each in topic.partitions if not each.error_code] == [
        index for index in order if index < 900
    ]
    assert world.committed("g") == {("t", index): 1000 + index for index in range(900)}


def test_equal_names_of_a_few_are_answered_each_and_of_many_once() -> None:
    world = MemoryCluster()
    world.coordinator("g")
    few = world.ask(DescribeGroupsRequest(["a", "b", "a"]), 5)
    assert [group.group_id for group in few.groups] == ["a", "b", "a"]
    many = world.ask(DescribeGroupsRequest(["a", "b"] * 30), 5)
    assert [group.group_id for group in many.groups] == ["a", "b"]
