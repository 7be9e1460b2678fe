"""OffsetCommit (key 8), versions 2 to 10: store the committed offsets of a group.

Retention time in versions 2 to 4. The leader epoch from version 6 (KIP-320), static members from version 7 (KIP-345); from
version 9 a group that does not exist is answered GROUP_ID_NOT_FOUND, not ILLEGAL_GENERATION; topic ids from version 10
(KIP-848). Partitions that do not exist are refused here; ``groups/committing.py`` has the rules for the rest.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.handlers.in_slices import AT_ONCE, WEIGHT_OF_A_PART, in_parts, in_slices, is_small, join_parts
from pykbroker.runtime.waits import Deferred, attempt, gather
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.slices import Work
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition

_TOPIC_IDS_SINCE = 10


def handle(
    broker: Broker, ctx: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Deferred[OffsetCommitResponse]:
    if not is_small(request.topics):
        return in_slices(broker, ctx, _in_parts(broker, ctx, request))
    refused, known = _taken_apart(broker, ctx.api_version, request.topics)
    if not known:
        return refused
    request.topics = known
    committed = _commit(broker, ctx, request)
    return committed.map(partial(_merged, refused)) if refused.topics else committed


def _in_parts(broker: Broker, ctx: RequestContext, request: OffsetCommitRequest) -> Work[OffsetCommitResponse]:
    """Each part is checked anew against the group, appended and replayed: commits of others may come in between."""
    refused = OffsetCommitResponse()
    known: list[OffsetCommitRequestTopic] = []
    for part in in_parts(request.topics):
        missing, there = _taken_apart(broker, ctx.api_version, part)
        join_parts(refused.topics, missing.topics, _which)
        join_parts(known, there, _which)
        yield AT_ONCE
    committed: list[Deferred[OffsetCommitResponse]] = []
    for part in in_parts(known) if known else ():
        some = copy(request)
        some.topics = part
        committed.append(_commit(broker, ctx, some))
        yield WEIGHT_OF_A_PART

    def joined(answers: list[OffsetCommitResponse]) -> OffsetCommitResponse:
        rest = OffsetCommitResponse()
        for answer in answers:
            join_parts(rest.topics, answer.topics, _which)
        return _merged(refused, rest)

    return gather(committed).map(joined)


def _which(topic: OffsetCommitRequestTopic | OffsetCommitResponseTopic) -> tuple[str, bytes]:
    return topic.name, topic.topic_id


def _taken_apart(
    broker: Broker, version: int, topics: list[OffsetCommitRequestTopic]
) -> tuple[OffsetCommitResponse, list[OffsetCommitRequestTopic]]:
    """The answer for partitions that do not exist, and the others."""
    refused = OffsetCommitResponse()
    known: list[OffsetCommitRequestTopic] = []
    for topic in topics:
        missing: list[OffsetCommitResponsePartition] = []
        there: list[OffsetCommitRequestPartition] = []
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if version >= _TOPIC_IDS_SINCE:
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
    return refused, known


def _name(broker: Broker, topic: OffsetCommitRequestTopic) -> ErrorCode:
    """Fill in the name of a topic given by its id; returns the error for partitions of it that do not exist."""
    name = broker.cluster.topic_name(topic.topic_id)
    topic.name = name or ""
    return ErrorCode.UNKNOWN_TOPIC_ID if name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _commit(broker: Broker, ctx: RequestContext, request: OffsetCommitRequest) -> Deferred[OffsetCommitResponse]:
    """Commit offsets of partitions that exist."""
    committed = attempt(broker.cluster.groups.commit, broker, ctx, request)
    return committed.recover(KafkaError, lambda error: failed(request, ctx.api_version, error))


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
