"""ShareAcknowledge (key 79), versions 1 to 2: members of a share group say what became of records (KIP-932).

Accept, release, reject, gaps, and from version 2 on renewed locks (KIP-1222). The request belongs to the member's share session, which
ends with epoch -1: what the member still has acquired is released.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.share.requests import check_served
from pykbroker.handlers.in_slices import in_slices
from pykbroker.handlers.leader_endpoints import leader_endpoints
from pykbroker.handlers.sharing.acknowledging import acknowledged
from pykbroker.handlers.sharing.each_partition import each_partition
from pykbroker.runtime.waits import Deferred, apply
from pykbroker.share_partitions.sessions import FINAL_EPOCH, INITIAL_EPOCH, ShareMemberKey
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.share_acknowledge import (
        AcknowledgePartition,
        AcknowledgeTopic,
        ShareAcknowledgeRequest,
    )

#: The weight of a partition's acknowledgements.
_WEIGHT = 4


def handle(
    broker: Broker, ctx: RequestContext, request: ShareAcknowledgeRequest
) -> ShareAcknowledgeResponse | Deferred[ShareAcknowledgeResponse]:
    check_served(broker)
    group_id, member_id = request.group_id or "", request.member_id or ""
    sessions = broker.share_partitions.sessions
    if request.share_session_epoch == INITIAL_EPOCH:
        raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    session = sessions.next(ShareMemberKey(group_id, member_id), request.share_session_epoch)

    def ask(topic: AcknowledgeTopic, requested: AcknowledgePartition) -> Deferred[PartitionData]:
        where = (topic.topic_id, requested.partition_index)
        done = acknowledged(broker, ctx, group_id, member_id, where, requested.acknowledgement_batches)
        return done.map(partial(_data, broker, where))

    def answer(topics: list[ShareAcknowledgeTopicResponse]) -> ShareAcknowledgeResponse:
        if request.share_session_epoch == FINAL_EPOCH:
            sessions.end(session)
        response = ShareAcknowledgeResponse(responses=topics, node_endpoints=_leaders(broker, ctx, topics))
        response.acquisition_lock_timeout_ms = broker.share_partitions.settings(group_id).limits().lock_duration_ms
        return response

    found = in_slices(broker, ctx, each_partition(request.topics, ask, _topic, weight=_WEIGHT))
    return apply(answer, found)


def failed(request: ShareAcknowledgeRequest, version: int, error: KafkaError) -> ShareAcknowledgeResponse:
    return ShareAcknowledgeResponse(error_code=error.code, error_message=error.given_message)


def _topic(topic: AcknowledgeTopic, partitions: list[PartitionData]) -> ShareAcknowledgeTopicResponse:
    return ShareAcknowledgeTopicResponse(topic.topic_id, partitions)


def _data(broker: Broker, where: tuple[bytes, int], error: KafkaError | None) -> PartitionData:
    data = PartitionData(partition_index=where[1])
    if error is not None:
        data.error_code, data.error_message = error.code, error.given_message
        partition = broker.placed(*where)
        if error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER and partition is not None:
            data.current_leader = LeaderIdAndEpoch(partition.leader, partition.leader_epoch)
    return data


def _leaders(broker: Broker, ctx: RequestContext, topics: list[ShareAcknowledgeTopicResponse]) -> list[NodeEndpoint]:
    """The endpoints of the leaders that the answer names."""
    leaders = {
        data.current_leader.leader_id
        for topic in topics
        for data in topic.partitions
        if data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    }
    return leader_endpoints(broker, ctx.listener, leaders, NodeEndpoint)
