"""AlterPartitionReassignments (key 45, versions 0 to 1): move partitions to other brokers, or take a move back (KIP-455).

- Replicas share one store: a move to living brokers is complete when it is answered. One to a stopped broker goes on
  until that broker is back, and can be taken back (null replicas) until then.
- v1: ``allow_replication_factor_change`` false refuses another number of replicas (KIP-860).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.controller.reassignments import plan_reassignment
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord


def handle(
    broker: Broker, ctx: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    controller = broker.cluster.metadata
    may_change_factor = request.allow_replication_factor_change
    response = AlterPartitionReassignmentsResponse(allow_replication_factor_change=may_change_factor)
    if request.topics:
        response.error_message = None
    records: dict[tuple[str, int], PartitionChangeRecord] = {}
    for topic in request.topics:
        result = ReassignableTopicResponse(name=topic.name)
        response.responses.append(result)
        for asked in topic.partitions:
            index = asked.partition_index
            if (topic.name, index) in records:  # named twice: the later plan begins where the earlier one ends
                controller.commit(list(records.values()))
                records.clear()
            error = None
            try:
                record = plan_reassignment(
                    controller.image, topic.name, index, asked.replicas, same_factor=not may_change_factor
                )
            except KafkaError as refusal:
                error = refusal
            else:
                if record is not None:
                    records[topic.name, index] = record
            result.partitions.append(_result(index, error))
    controller.commit(list(records.values()))
    return response


def failed(
    request: AlterPartitionReassignmentsRequest, version: int, error: KafkaError
) -> AlterPartitionReassignmentsResponse:
    """The request as a whole is refused: every partition carries the error too."""
    del version
    return AlterPartitionReassignmentsResponse(
        error_code=error.code,
        error_message=error.message,
        responses=[
            ReassignableTopicResponse(
                name=topic.name, partitions=[_result(asked.partition_index, error) for asked in topic.partitions]
            )
            for topic in request.topics
        ],
    )


def _result(index: int, error: KafkaError | None) -> ReassignablePartitionResponse:
    return ReassignablePartitionResponse(
        partition_index=index,
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.given_message,
    )
