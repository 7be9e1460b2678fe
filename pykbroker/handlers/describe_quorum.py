"""DescribeQuorum (key 55, versions 0 to 2): voters and observers of the metadata log and their log end offsets (KIP-595).

- The controller of this process is the only voter and the leader; its other brokers are observers. All share one image,
  so none ever lags.
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
    controller = broker.cluster.metadata
    log, high_watermark = controller.log, controller.image.offset + 1
    with_ids = ctx.api_version >= 2
    now_ms = broker.cluster.runtime.clock.now_ms() if ctx.api_version >= 1 else -1

    def state(replica_id: int, directory_id: bytes) -> ReplicaState:
        return ReplicaState(replica_id, directory_id if with_ids else ZERO_ID, high_watermark, now_ms, now_ms)

    leader = log.quorum.node_id
    others = [known for known in controller.image.active_brokers() if known.id != leader]
    partition = DescribeQuorumResponsePartitionData(
        leader_id=leader,
        leader_epoch=log.epoch,
        high_watermark=high_watermark,
        current_voters=[state(leader, log.quorum.directory_id)],
        observers=[state(known.id, known.log_dirs[0]) for known in others],
    )
    topic = DescribeQuorumResponseTopicData(topic_name=CLUSTER_METADATA, partitions=[partition])
    return DescribeQuorumResponse(topics=[topic], nodes=[Node(node_id=leader)] if with_ids else [])


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
