"""Reassignments of partitions to other brokers (KIP-455)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, raise_for, refusal
from pykbroker.client.offsets import TopicPartition
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopic,
)
from pykbroker.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
)


def ongoing_moves(client: Client) -> dict[TopicPartition, OngoingPartitionReassignment]:
    """Return the ongoing reassignments, sorted by partition. Raises ClientError."""
    request = ListPartitionReassignmentsRequest(topics=None, timeout_ms=int(client.timeout_s * 1000))
    answer = client.controller().call(request, ListPartitionReassignmentsResponse)
    _check(answer.error_code, answer.error_message)
    found = {
        TopicPartition(topic.name, each.partition_index): each for topic in answer.topics for each in topic.partitions
    }
    return dict(sorted(found.items()))


def alter_moves(
    client: Client, wanted: Mapping[TopicPartition, list[int] | None]
) -> dict[TopicPartition, ReassignablePartitionResponse]:
    """Request these replicas (None: cancel); returns the result of each partition. Raises ClientError."""
    topics: dict[str, list[ReassignablePartition]] = defaultdict(list)
    for partition, brokers in wanted.items():
        topics[partition.topic].append(ReassignablePartition(partition_index=partition.number, replicas=brokers))
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
        timeout_ms=int(client.timeout_s * 1000),
    )
    answer = client.controller().call(request, AlterPartitionReassignmentsResponse)
    _check(answer.error_code, answer.error_message)
    return {
        TopicPartition(topic.name, each.partition_index): each
        for topic in answer.responses
        for each in topic.partitions
    }


def _check(code: int, message: str | None) -> None:
    try:
        raise_for(code, message)
    except KafkaError as error:
        raise ClientError(refusal("Reassignments", error)) from error
