"""AlterPartitionReassignments (key 45, versions 0 to 1): move partitions to other brokers, or cancel a reassignment (KIP-455).

- Replicas share one store, so a reassignment to running brokers is complete when it is answered. One to a stopped broker
  is under way until that broker starts, and can be cancelled (null replicas) until then.
- v1: ``allow_replication_factor_change`` false refuses a change of the number of replicas (KIP-860).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.controller.reassignments import Reassignment
from pykbroker.handlers.in_slices import flat, in_turn
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


#: Partitions that are reassigned together.
_AT_ONCE = 50


def handle(
    broker: Broker, ctx: RequestContext, request: AlterPartitionReassignmentsRequest
) -> Deferred[AlterPartitionReassignmentsResponse]:
    may_change_factor = request.allow_replication_factor_change
    wanted = [
        Reassignment(topic.name, asked.partition_index, asked.replicas)
        for topic in request.topics
        for asked in topic.partitions
    ]

    def answer(errors: list[KafkaError | None]) -> AlterPartitionReassignmentsResponse:
        response = AlterPartitionReassignmentsResponse(allow_replication_factor_change=may_change_factor)
        if request.topics:
            response.error_message = None
        in_order = iter(errors)
        response.responses = [
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[_result(asked.partition_index, next(in_order)) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
        return response

    def alter(some: Sequence[Reassignment]) -> Deferred[list[KafkaError | None]]:
        return broker.controller.alter_reassignments(list(some), same_factor=not may_change_factor)

    return in_turn(broker, ctx, wanted, alter, _AT_ONCE).map(lambda errors: answer(flat(errors)))


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
