"""ListPartitionReassignments (key 46, version 0): the reassignments under way (KIP-455).

Only reassignments to a stopped broker stay under way: see AlterPartitionReassignments. Null topics means all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.controller.reassignments import ongoing_reassignments
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext


def handle(
    broker: Broker, ctx: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    asked = None if request.topics is None else {topic.name: set(topic.partition_indexes) for topic in request.topics}
    topics: dict[str, OngoingTopicReassignment] = {}
    for topic, partition in ongoing_reassignments(broker.metadata.image):
        if asked is not None and partition.index not in asked.get(topic.name, ()):
            continue
        found = topics.setdefault(topic.name, OngoingTopicReassignment(name=topic.name))
        found.partitions.append(
            OngoingPartitionReassignment(
                partition_index=partition.index,
                replicas=partition.replicas,
                adding_replicas=partition.adding_replicas,
                removing_replicas=partition.removing_replicas,
            )
        )
    return ListPartitionReassignmentsResponse(error_message=None, topics=list(topics.values()))


def failed(
    request: ListPartitionReassignmentsRequest, version: int, error: KafkaError
) -> ListPartitionReassignmentsResponse:
    """The request as a whole is refused; the answer repeats the partitions it names."""
    del version
    return ListPartitionReassignmentsResponse(
        error_code=error.code,
        error_message=error.message,
        topics=[
            OngoingTopicReassignment(
                name=topic.name,
                partitions=[OngoingPartitionReassignment(partition_index=index) for index in topic.partition_indexes],
            )
            for topic in request.topics or ()
        ],
    )
