"""DescribeQuorum (key 55, versions 0 to 2): voters and observers of the metadata log and their log end offsets (KIP-595).

- The controller answers through its port: it is the only voter and the leader, the other brokers are observers.
- v1: last fetch and last caught-up timestamps. v2: error messages, directory ids and the voters' endpoints (KIP-853), which
  are empty since the controller has no listener.
- A request for anything but partition 0 of __cluster_metadata alone is answered UNKNOWN_TOPIC_OR_PARTITION.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.in_slices import in_slices
from pykbroker.metadata.ids import ZERO_ID
from pykbroker.metadata.names import CLUSTER_METADATA
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Node,
    ReplicaState,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.controller.metadata_quorum import QuorumDescription, QuorumReplica
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


def handle(
    broker: Broker, ctx: RequestContext, request: DescribeQuorumRequest
) -> DescribeQuorumResponse | Deferred[DescribeQuorumResponse]:
    topics = request.topics
    if [topic.topic_name for topic in topics[:2]] != [CLUSTER_METADATA] or [
        partition.partition_index for partition in topics[0].partitions[:2]
    ] != [0]:
        return in_slices(broker, ctx, _unknown(topics))
    return broker.controller.describe_quorum().map(lambda quorum: _answer(quorum, ctx.api_version))


def _answer(quorum: QuorumDescription, version: int) -> DescribeQuorumResponse:
    def state(replica: QuorumReplica) -> ReplicaState:
        node_id, directory_id, end, fetched_ms, caught_up_ms = replica
        if version < 2:
            directory_id = ZERO_ID
        if version < 1:
            fetched_ms = caught_up_ms = -1
        return ReplicaState(node_id, directory_id, end, fetched_ms, caught_up_ms)

    partition = DescribeQuorumResponsePartitionData(
        leader_id=quorum.leader_id,
        leader_epoch=quorum.leader_epoch,
        high_watermark=quorum.high_watermark,
        current_voters=list(map(state, quorum.voters)),
        observers=list(map(state, quorum.observers)),
    )
    topic = DescribeQuorumResponseTopicData(topic_name=CLUSTER_METADATA, partitions=[partition])
    nodes = [Node(node_id=voter.node_id) for voter in quorum.voters] if version >= 2 else []
    return DescribeQuorumResponse(topics=[topic], nodes=nodes)


def failed(request: DescribeQuorumRequest, version: int, error: KafkaError) -> DescribeQuorumResponse:
    """The request as a whole is refused."""
    del request, version
    return DescribeQuorumResponse(error_code=error.code, error_message=error.message)


def _unknown(topics: list[DescribeQuorumRequestTopicData]) -> Work[DescribeQuorumResponse]:
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    response = DescribeQuorumResponse()
    for topic in topics:
        answer = DescribeQuorumResponseTopicData(topic_name=topic.topic_name)
        response.topics.append(answer)
        for partition in topic.partitions:
            answer.partitions.append(
                DescribeQuorumResponsePartitionData(
                    partition_index=partition.partition_index, error_code=error, error_message=error.default_message
                )
            )
            yield 1
        yield 1
    return response
