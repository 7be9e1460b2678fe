"""OffsetCommit (key 8), versions 2 to 10: store the committed offsets of a group.

Retention time in versions 2 to 4. The leader epoch from version 6 (KIP-320), static members from version 7 (KIP-345); from
version 9 a group that does not exist is answered GROUP_ID_NOT_FOUND, not ILLEGAL_GENERATION; topic ids from version 10
(KIP-848). Partitions that do not exist are refused here; ``groups/committing.py`` has the rules for the rest.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.shard import GroupShard
from pykbroker.handlers.offset_topics import answer, partitions_that_exist
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.offset_commit import (
        OffsetCommitRequest,
    )

TOPIC_IDS_SINCE = 10


def handle(
    broker: Broker, ctx: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Deferred[OffsetCommitResponse]:
    known = partial(
        partitions_that_exist,
        broker,
        OffsetCommitResponseTopic,
        OffsetCommitResponsePartition,
        by_id=ctx.api_version >= TOPIC_IDS_SINCE,
    )
    return answer(broker, ctx, request, OffsetCommitResponse, known, partial(_commit, broker, ctx))


def _commit(
    broker: Broker, ctx: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Deferred[OffsetCommitResponse]:
    """Commit offsets of partitions that exist. The empty group id is allowed, as Kafka allows it."""
    try:
        committed = broker.groups.ask(request.group_id, GroupShard.commit, ctx, request)
    except KafkaError as error:
        return failed(request, ctx.api_version, error)
    if isinstance(committed, Deferred):
        return committed.recover(KafkaError, lambda error: failed(request, ctx.api_version, error))
    return committed


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
