"""ElectLeaders (key 43, versions 0 to 2): elect the preferred replicas as leaders (KIP-183, KIP-460).

- v1: ``election_type``, 0 preferred or 1 unclean; an error for the request as a whole. v2: flexible.
- Null partitions means all; partitions that need no election are then left out of the answer.
- Unclean elections are never needed: a replica on a running broker is always in sync here, and leads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.controller.elections import election_type
from pykbroker.handlers.in_slices import in_parts, in_turn
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
    TopicPartitions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


def handle(broker: Broker, ctx: RequestContext, request: ElectLeadersRequest) -> Deferred[ElectLeadersResponse]:
    kind = election_type(request.election_type)
    asked = request.topic_partitions
    elect = broker.controller.elect_leaders
    if asked is None:
        return elect(kind, None).map(_answer)
    parts = list(in_parts(asked))

    def elect_part(part: Sequence[list[TopicPartitions]]) -> Deferred[ElectLeadersResponse]:
        return elect(kind, [(topic.topic, topic.partitions) for topics in part for topic in topics]).map(_answer)

    return in_turn(broker, ctx, parts, elect_part, 1).map(_joined)


def _answer(results: dict[str, list[tuple[int, KafkaError | None]]]) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(topic=topic, partition_result=[_result(*each) for each in partitions])
            for topic, partitions in results.items()
        ]
    )


def _joined(answers: list[ElectLeadersResponse]) -> ElectLeadersResponse:
    """The answers for the parts of a request as one."""
    topics: dict[str, ReplicaElectionResult] = {}
    for result in (result for answer in answers for result in answer.replica_election_results):
        if result.topic in topics:
            topics[result.topic].partition_result += result.partition_result
        else:
            topics[result.topic] = result
    return ElectLeadersResponse(replica_election_results=list(topics.values()))


def failed(request: ElectLeadersRequest, version: int, error: KafkaError) -> ElectLeadersResponse:
    """The request as a whole is refused: every named partition carries the error, and from version 1 the answer itself."""
    return ElectLeadersResponse(
        error_code=error.code if version >= 1 else ErrorCode.NONE,
        replica_election_results=[
            ReplicaElectionResult(topic=topic.topic, partition_result=[_result(i, error) for i in topic.partitions])
            for topic in request.topic_partitions or ()
        ],
    )


def _result(index: int, error: KafkaError | None) -> PartitionResult:
    return PartitionResult(
        partition_id=index,
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
    )
