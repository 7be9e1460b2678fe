"""TxnOffsetCommit (key 28), versions 0 to 6: commit a group's offsets as part of a transaction.

The offsets take effect when the transaction is committed. Member and generation from version 3 (KIP-447),
TRANSACTION_ABORTABLE from version 4; from version 5 the request adds the group's partition to the transaction (KIP-890).
Before version 2 COORDINATOR_LOAD_IN_PROGRESS is answered as COORDINATOR_NOT_AVAILABLE. From version 6 topics are named by their ids;
before, GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH are answered as ILLEGAL_GENERATION.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.transactions.admitting import Dialect
from pykbroker.handlers.offset_topics import answer, partitions_that_exist
from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.txn_offset_commit import (
        TxnOffsetCommitRequest,
    )

_LOADING_SINCE = 2
_ABORTABLE_SINCE = 4
_ADDS_SINCE = 5
_TOPIC_IDS_SINCE = 6
_OF_MEMBERS = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.STALE_MEMBER_EPOCH)


def handle(
    broker: Broker, ctx: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Deferred[TxnOffsetCommitResponse]:
    known = partial(
        partitions_that_exist,
        broker,
        TxnOffsetCommitResponseTopic,
        TxnOffsetCommitResponsePartition,
        by_id=ctx.api_version >= _TOPIC_IDS_SINCE,
    )
    return answer(broker, ctx, request, TxnOffsetCommitResponse, known, partial(_commit, broker, ctx))


def _commit(broker: Broker, ctx: RequestContext, request: TxnOffsetCommitRequest) -> Deferred[TxnOffsetCommitResponse]:
    """Commit offsets of partitions that exist."""
    version = ctx.api_version
    dialect = Dialect(adds=version >= _ADDS_SINCE, knows_abortable=version >= _ABORTABLE_SINCE)
    committed = attempt(broker.groups.commit_in_transaction, request, dialect)
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
