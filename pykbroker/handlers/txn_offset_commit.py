"""TxnOffsetCommit (key 28), versions 0 to 6: commit a group's offsets as part of a transaction.

The offsets take effect when the transaction is committed. Member and generation from version 3 (KIP-447),
TRANSACTION_ABORTABLE from version 4; from version 5 the request adds the group's partition to the transaction (KIP-890).
Before version 2 COORDINATOR_LOAD_IN_PROGRESS is answered as COORDINATOR_NOT_AVAILABLE. From version 6 topics are named by their ids;
before, GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH are answered as ILLEGAL_GENERATION.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from pykbroker.coordination.transactions.admitting import Dialect
from pykbroker.handlers.in_slices import AT_ONCE, WEIGHT_OF_A_PART, in_parts, in_slices, is_small, join_parts
from pykbroker.runtime.waits import Deferred, attempt, gather
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.slices import Work
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition

_LOADING_SINCE = 2
_ABORTABLE_SINCE = 4
_ADDS_SINCE = 5
_TOPIC_IDS_SINCE = 6
_OF_MEMBERS = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.STALE_MEMBER_EPOCH)


def handle(
    broker: Broker, ctx: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Deferred[TxnOffsetCommitResponse]:
    if not is_small(request.topics):
        return in_slices(broker, ctx, _in_parts(broker, ctx, request))
    refused = _take_out_missing(broker, ctx.api_version, request)
    if not request.topics:
        return refused
    return _commit(broker, ctx, request).map(lambda rest: _merged(refused, rest))


def _in_parts(broker: Broker, ctx: RequestContext, request: TxnOffsetCommitRequest) -> Work[TxnOffsetCommitResponse]:
    """Each part is checked anew against group and transaction, appended and replayed."""
    refused = TxnOffsetCommitResponse()
    known: list[TxnOffsetCommitRequestTopic] = []
    for part in in_parts(request.topics):
        some = copy(request)
        some.topics = part
        join_parts(refused.topics, _take_out_missing(broker, ctx.api_version, some).topics, _which)
        join_parts(known, some.topics, _which)
        yield AT_ONCE
    committed: list[Deferred[TxnOffsetCommitResponse]] = []
    for part in in_parts(known) if known else ():
        some = copy(request)
        some.topics = part
        committed.append(_commit(broker, ctx, some))
        yield WEIGHT_OF_A_PART

    def joined(answers: list[TxnOffsetCommitResponse]) -> TxnOffsetCommitResponse:
        rest = TxnOffsetCommitResponse()
        for answer in answers:
            join_parts(rest.topics, answer.topics, _which)
        return _merged(refused, rest)

    return gather(committed).map(joined)


def _which(topic: TxnOffsetCommitRequestTopic | TxnOffsetCommitResponseTopic) -> str | bytes:
    return topic.name or topic.topic_id


def _commit(broker: Broker, ctx: RequestContext, request: TxnOffsetCommitRequest) -> Deferred[TxnOffsetCommitResponse]:
    """Commit offsets of partitions that exist."""
    version = ctx.api_version
    dialect = Dialect(adds=version >= _ADDS_SINCE, knows_abortable=version >= _ABORTABLE_SINCE)
    committed = attempt(broker.cluster.groups.commit_in_transaction, broker, request, dialect)
    return committed.recover(KafkaError, lambda error: failed(request, version, error))


def failed(request: TxnOffsetCommitRequest, version: int, error: KafkaError) -> TxnOffsetCommitResponse:
    """The request as a whole is refused: every partition carries the error."""
    code = error.code
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _LOADING_SINCE:
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code in _OF_MEMBERS and version < _TOPIC_IDS_SINCE:
        code = ErrorCode.ILLEGAL_GENERATION
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    TxnOffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _take_out_missing(broker: Broker, version: int, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
    """Remove partitions that do not exist from the request, fill in names and ids of the others; returns the answer for those
    removed.
    """
    refused = TxnOffsetCommitResponse()
    known: list[TxnOffsetCommitRequestTopic] = []
    for topic in request.topics:
        there: list[TxnOffsetCommitRequestPartition] = []
        missing: list[TxnOffsetCommitResponsePartition] = []
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if version >= _TOPIC_IDS_SINCE:
            name = broker.cluster.topic_name(topic.topic_id)
            topic.name = name or ""
            code = ErrorCode.UNKNOWN_TOPIC_ID if name is None else code
        for asked in topic.partitions:
            index = asked.partition_index
            partition = broker.cluster.partition(topic.name, index)
            if partition is None:
                missing.append(TxnOffsetCommitResponsePartition(partition_index=index, error_code=code))
            else:
                topic.topic_id = partition.topic_id  # stored with the offset
                there.append(asked)
        if missing:
            answer = TxnOffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=missing)
            refused.topics.append(answer)
        if there:
            known.append(TxnOffsetCommitRequestTopic(name=topic.name, topic_id=topic.topic_id, partitions=there))
    request.topics = known
    return refused


def _merged(refused: TxnOffsetCommitResponse, rest: TxnOffsetCommitResponse) -> TxnOffsetCommitResponse:
    """Both answers merged; in a topic that is in both, the refused partitions come first, as in Kafka."""
    by_topic = {topic.name: topic for topic in refused.topics}
    for topic in rest.topics:
        first = by_topic.get(topic.name)
        if first is None:
            refused.topics.append(topic)
        else:
            first.partitions += topic.partitions
    return refused
