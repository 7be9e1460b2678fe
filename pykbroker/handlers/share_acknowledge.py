"""ShareAcknowledge (key 79), versions 1 to 2: members of a share group say what became of records (KIP-932).

Accept, release, reject, gaps, and from version 2 on renewed locks (KIP-1222). The request belongs to the member's share session, which
ends with epoch -1: what the member still has acquired is released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.share.requests import check_served
from pykbroker.handlers.sharing.acknowledging import acknowledged
from pykbroker.runtime.waits import Deferred, gather
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
    from pykbroker.wire.messages.share_acknowledge import ShareAcknowledgeRequest


def handle(
    broker: Broker, ctx: RequestContext, request: ShareAcknowledgeRequest
) -> ShareAcknowledgeResponse | Deferred[ShareAcknowledgeResponse]:
    check_served(broker)
    group_id, member_id = request.group_id or "", request.member_id or ""
    sessions = broker.share_partitions.sessions
    if request.share_session_epoch == INITIAL_EPOCH:
        raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    session = sessions.next(ShareMemberKey(group_id, member_id), request.share_session_epoch)
    asked = {
        (topic.topic_id, partition.partition_index): partition.acknowledgement_batches
        for topic in request.topics
        for partition in topic.partitions
    }
    waits = [acknowledged(broker, ctx, group_id, member_id, where, batches) for where, batches in asked.items()]

    def answer(errors: list[KafkaError | None]) -> ShareAcknowledgeResponse:
        if request.share_session_epoch == FINAL_EPOCH:
            sessions.end(session)
        response = _answer(broker, ctx, dict(zip(asked, errors, strict=True)))
        response.acquisition_lock_timeout_ms = broker.share_partitions.settings(group_id).limits().lock_duration_ms
        return response

    return gather(waits).map(answer)


def failed(request: ShareAcknowledgeRequest, version: int, error: KafkaError) -> ShareAcknowledgeResponse:
    return ShareAcknowledgeResponse(error_code=error.code, error_message=error.given_message)


def _answer(
    broker: Broker, ctx: RequestContext, errors: dict[tuple[bytes, int], KafkaError | None]
) -> ShareAcknowledgeResponse:
    topics: dict[bytes, ShareAcknowledgeTopicResponse] = {}
    leaders: set[int] = set()
    for (topic_id, index), error in errors.items():
        data = PartitionData(partition_index=index)
        if error is not None:
            data.error_code, data.error_message = error.code, error.given_message
            partition = broker.cluster.partition_by_id(topic_id, index)
            if error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER and partition is not None:
                data.current_leader = LeaderIdAndEpoch(partition.leader, partition.leader_epoch)
                leaders.add(partition.leader)
        topics.setdefault(topic_id, ShareAcknowledgeTopicResponse(topic_id)).partitions.append(data)
    endpoints = [
        NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
        for node in (broker.cluster.nodes(ctx.listener) if leaders else ())
        if node.node_id in leaders
    ]
    return ShareAcknowledgeResponse(responses=list(topics.values()), node_endpoints=endpoints)
