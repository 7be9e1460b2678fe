"""DescribeQuorum (key 55, versions 0 to 2): voters and observers of the metadata log and their log end offsets (KIP-595).

- The controller of this process is the only voter and the leader; its other brokers are observers. All share one image,
  so none ever lags.
- v1: last fetch and last caught-up timestamps. v2: error messages, directory ids and the voters' endpoints (KIP-853), which
  are empty since the controller has no listener.
- A request for anything but partition 0 of __cluster_metadata alone is answered UNKNOWN_TOPIC_OR_PARTITION.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.metadata.ids import ZERO_ID
from pykbroker.metadata.names import CLUSTER_METADATA
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Node,
    ReplicaState,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext


def handle(broker: Broker, ctx: RequestContext, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    asked = [(topic.topic_name, [p.partition_index for p in topic.partitions]) for topic in request.topics]
    if asked != [(CLUSTER_METADATA, [0])]:
        return _unknown(asked)
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


def _unknown(asked: list[tuple[str, list[int]]]) -> DescribeQuorumResponse:
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return DescribeQuorumResponse(
        topics=[
            DescribeQuorumResponseTopicData(
                topic_name=name,
                partitions=[
                    DescribeQuorumResponsePartitionData(
                        partition_index=index, error_code=error, error_message=error.default_message
                    )
                    for index in indexes
                ],
            )
            for name, indexes in asked
        ]
    )
