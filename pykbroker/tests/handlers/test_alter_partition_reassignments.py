"""AlterPartitionReassignments, and what ListPartitionReassignments tells of it."""

from __future__ import annotations

import pytest

from pykbroker.wire.messages import alter_partition_reassignments as reassigning
from pykbroker.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)


def reassign(broker, *partitions, version=1, **options):
    """(index, replicas) pairs; the codes of the answer."""
    topic = reassigning.ReassignableTopic("t", [reassigning.ReassignablePartition(*each) for each in partitions])
    request = reassigning.AlterPartitionReassignmentsRequest(topics=[topic], **options)
    answer = broker.ask(request, version)
    return [partition.error_code for topic in answer.responses for partition in topic.partitions]


def ongoing(broker, topics=None):
    answer = broker.ask(ListPartitionReassignmentsRequest(topics=topics), 0)
    return [
        (topic.name, p.partition_index, p.replicas, p.adding_replicas, p.removing_replicas)
        for topic in answer.topics
        for p in topic.partitions
    ]


@pytest.mark.parametrize("version", [0, 1])
def test_reassignments(broker, version):
    assert reassign(broker, (0, [2]), (1, [2, 1]), (9, [1]), version=version) == [0, 0, 3]
    assert [p.replicas for p in broker.image.topic("t").in_order()] == [[2], [2, 1]]
    assert ongoing(broker) == []


def test_a_partition_named_twice_goes_where_it_was_told_last(broker):
    assert reassign(broker, (0, [2]), (0, [1])) == [0, 0]
    partition = broker.image.partition("t", 0)
    assert (partition.replicas, partition.isr, partition.leader) == ([1], [1], 1)


def test_the_replication_factor_may_be_held(broker):
    assert reassign(broker, (0, [2]), (1, [2, 1]), allow_replication_factor_change=False) == [38, 0]


def test_what_waits_for_a_stopped_broker_is_listed_and_can_be_taken_back(broker):
    reassign(broker, (0, [1]), (1, [1]))
    broker.controller.fence_broker(2)
    assert reassign(broker, (0, [2]), (1, [2])) == [0, 0]
    assert ongoing(broker) == [("t", 0, [2, 1], [2], [1]), ("t", 1, [2, 1], [2], [1])]
    assert [index for _, index, *_ in ongoing(broker, [ListPartitionReassignmentsTopics("t", [1, 9])])] == [1]
    assert ongoing(broker, []) == ongoing(broker, [ListPartitionReassignmentsTopics("x", [0])]) == []
    assert reassign(broker, (0, None), (0, None)) == [0, 85]
    assert [index for _, index, *_ in ongoing(broker)] == [1]


def test_a_log_that_cannot_be_written_refuses_every_partition(broker):
    with broker.full_disk():
        assert reassign(broker, (0, [2]), (1, [1, 2])) == [56, 56]
