from __future__ import annotations

from pykbroker.client.membership import range_assignment
from pykbroker.client.offsets import TopicPartition


def test_range_gives_even_runs_in_order_of_member_ids() -> None:
    assigned = range_assignment({"b": ["t"], "a": ["t"], "c": ["t"]}, {"t": 7})
    assert {member: [p.number for p in partitions] for member, partitions in assigned.items()} == {
        "a": [0, 1, 2],
        "b": [3, 4],
        "c": [5, 6],
    }


def test_each_topic_is_divided_among_its_own_subscribers() -> None:
    assigned = range_assignment({"a": ["x", "y"], "b": ["y"]}, {"x": 1, "y": 2})
    assert assigned == {"a": [TopicPartition("x", 0), TopicPartition("y", 0)], "b": [TopicPartition("y", 1)]}


def test_more_members_than_partitions() -> None:
    assert range_assignment({"a": ["t"], "b": ["t"]}, {"t": 1}) == {"a": [TopicPartition("t", 0)], "b": []}


def test_a_topic_that_is_gone() -> None:
    assert range_assignment({"a": ["t"]}, {}) == {"a": []}
