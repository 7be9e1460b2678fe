"""OffsetCommit (key 8), versions 2 to 10: store the committed offsets of a group.

Retention time in versions 2 to 4. The leader epoch from version 6 (KIP-320), static members from version 7 (KIP-345); from
version 9 a group that does not exist is answered GROUP_ID_NOT_FOUND, not ILLEGAL_GENERATION; topic ids from version 10
(KIP-848). Partitions that do not exist are refused here; ``groups/committing.py`` has the rules for the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition

_TOPIC_IDS_SINCE = 10


def handle(
    broker: Broker, ctx: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Deferred[OffsetCommitResponse]:
    refused = OffsetCommitResponse()
    known: list[OffsetCommitRequestTopic] = []
    for topic in request.topics:
        missing: list[OffsetCommitResponsePartition] = []
        there: list[OffsetCommitRequestPartition] = []
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if ctx.api_version >= _TOPIC_IDS_SINCE:
            code = _name(broker, topic)
        for asked in topic.partitions:
            index = asked.partition_index
            partition = broker.cluster.partition(topic.name, index)
            if partition is None:
                missing.append(OffsetCommitResponsePartition(partition_index=index, error_code=code))
            else:
                topic.topic_id = partition.topic_id  # stored with the offset, also if the client gave a name alone
                there.append(asked)
        if missing:
            answer = OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=missing)
            refused.topics.append(answer)
        if there:
            known.append(OffsetCommitRequestTopic(name=topic.name, topic_id=topic.topic_id, partitions=there))
    if not known:
        return refused
    request.topics = known
    return _commit(broker, ctx, request, refused)


def _name(broker: Broker, topic: OffsetCommitRequestTopic) -> ErrorCode:
    """Fill in the name of a topic given by its id; returns the error for partitions of it that do not exist."""
    name = broker.cluster.topic_name(topic.topic_id)
    topic.name = name or ""
    return ErrorCode.UNKNOWN_TOPIC_ID if name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _commit(
    broker: Broker, ctx: RequestContext, request: OffsetCommitRequest, refused: OffsetCommitResponse
) -> Deferred[OffsetCommitResponse]:
    """Commit the rest of the request; the answer includes what was refused."""
    committed = attempt(broker.cluster.groups.commit, broker, ctx, request)
    answered = committed.recover(KafkaError, lambda error: failed(request, ctx.api_version, error))
    return answered.map(lambda rest: _merged(refused, rest))


def _merged(refused: OffsetCommitResponse, rest: OffsetCommitResponse) -> OffsetCommitResponse:
    """Both answers merged; in a topic that is in both, the refused partitions come first, as in Kafka."""
    if not refused.topics:
        return rest
    by_name = {topic.name: topic for topic in refused.topics}
    for topic in rest.topics:
        first = by_name.get(topic.name)
        if first is None:
            refused.topics.append(topic)
        else:
            first.partitions += topic.partitions
    return refused


def failed(request: OffsetCommitRequest, version: int, error: KafkaError) -> OffsetCommitResponse:
    """The request as a whole is refused: every partition carries the error."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=error.code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
