"""AddPartitionsToTxn (key 24), versions 0 to 5: adds partitions to a transaction.

Up to version 3 a producer names one transaction. From version 4 brokers name many, and may verify only, without adding
(KIP-890). If one partition does not exist, none of its transaction is added: the others are answered
OPERATION_NOT_ATTEMPTED. Before version 2 PRODUCER_FENCED is answered as INVALID_PRODUCER_EPOCH.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.in_slices import WEIGHT_OF_A_QUESTION, WEIGHT_OF_LITTLE, in_slices, whole
from pykbroker.metadata.names import is_internal
from pykbroker.runtime.waits import Deferred, as_wait, attempt, gather
from pykbroker.security.operations import WRITE
from pykbroker.security.resources import TOPIC
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.transactions.transaction import TopicPartition
    from pykbroker.runtime.slices import Work
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest

    Codes = dict[TopicPartition, ErrorCode]

_FENCED_SINCE = 2
_MANY_SINCE = 4
#: The weight of looking at a partition.
_WEIGHT = 0.3
#: The transaction version that a version of the request stands for.
_BROKERS_TRANSACTION_VERSION = 2


def handle(
    broker: Broker, ctx: RequestContext, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse | Deferred[AddPartitionsToTxnResponse]:
    return in_slices(broker, ctx, _work(broker, ctx, _transactions(request, ctx.api_version)))


def _work(
    broker: Broker, ctx: RequestContext, transactions: list[AddPartitionsToTxnTransaction]
) -> Work[AddPartitionsToTxnResponse]:
    if not transactions:
        return AddPartitionsToTxnResponse()
    codes: list[Deferred[Codes]] = []
    for transaction in transactions:
        codes.append((yield from _ask(broker, ctx, transaction)))
        yield 1
    run = broker.runtime.slices.run
    return gather(codes).chain(lambda found: as_wait(run(_response(transactions, found, ctx.api_version))))


def _transactions(request: AddPartitionsToTxnRequest, version: int) -> list[AddPartitionsToTxnTransaction]:
    if version >= _MANY_SINCE:
        return request.transactions
    return [
        AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )
    ]


def _ask(
    broker: Broker, ctx: RequestContext, transaction: AddPartitionsToTxnTransaction
) -> Generator[float, None, Deferred[Codes]]:
    """Add or verify one transaction's partitions; returns an error code for each."""
    version = ctx.api_version
    wanted: list[TopicPartition] = []
    spoilt: dict[TopicPartition, ErrorCode] = {}
    for topic in transaction.topics:
        for index in topic.partitions:
            wanted.append((topic.name, index))
            if not broker.metadata.image.has_partition(topic.name, index):
                spoilt[topic.name, index] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            yield _WEIGHT
        yield _WEIGHT
    denied = yield from _denied(broker, ctx, transaction)
    if denied:
        for each in wanted:
            if each[0] in denied:
                spoilt[each] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            yield WEIGHT_OF_LITTLE
    if spoilt:
        return Deferred.completed(dict.fromkeys(wanted, ErrorCode.OPERATION_NOT_ATTEMPTED) | spoilt)

    def refused(error: KafkaError) -> Codes:
        code = error.code
        if code is ErrorCode.PRODUCER_FENCED and version < _FENCED_SINCE:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        return dict.fromkeys(wanted, code)

    coordinator = broker.transactions
    identity = (transaction.transactional_id, transaction.producer_id, transaction.producer_epoch)

    def ask() -> Codes | Deferred[Codes]:
        if transaction.verify_only:
            return coordinator.verify_partitions(*identity, wanted)
        client_version = _BROKERS_TRANSACTION_VERSION if version >= _MANY_SINCE else 0
        added = coordinator.add_partitions(*identity, wanted, client_version=client_version)
        return as_wait(added).map(lambda _: dict.fromkeys(wanted, ErrorCode.NONE))

    return attempt(ask).recover(KafkaError, refused)


def _denied(
    broker: Broker, ctx: RequestContext, transaction: AddPartitionsToTxnTransaction
) -> Generator[float, None, set[str]]:
    """The topics that a client may not write to. For brokers (version 4) CLUSTER_ACTION is checked instead."""
    authorizer = broker.authorizer
    denied: set[str] = set()
    if authorizer is None or ctx.api_version >= _MANY_SINCE:
        return denied
    for name in {topic.name for topic in transaction.topics if topic.partitions}:
        if is_internal(name) or not authorizer.may(ctx, WRITE, TOPIC, name):
            denied.add(name)
        yield WEIGHT_OF_A_QUESTION
    return denied


def failed(request: AddPartitionsToTxnRequest, version: int, error: KafkaError) -> AddPartitionsToTxnResponse:
    """The request as a whole is refused: every partition carries the error, and from version 4 the answer itself."""
    if version >= _MANY_SINCE:
        return AddPartitionsToTxnResponse(error_code=error.code)
    transactions = _transactions(request, version)
    codes = [
        {(topic.name, each): error.code for topic in ask.topics for each in topic.partitions} for ask in transactions
    ]
    return whole(_response(transactions, codes, version))


def _response(
    transactions: list[AddPartitionsToTxnTransaction], codes: list[Codes], version: int
) -> Generator[float, None, AddPartitionsToTxnResponse]:
    results: list[AddPartitionsToTxnResult] = []
    for transaction, found in zip(transactions, codes, strict=True):
        result = AddPartitionsToTxnResult(transactional_id=transaction.transactional_id)
        results.append(result)
        for topic in transaction.topics:
            answers = AddPartitionsToTxnTopicResult(name=topic.name)
            result.topic_results.append(answers)
            for index in topic.partitions:
                answers.results_by_partition.append(
                    AddPartitionsToTxnPartitionResult(
                        partition_index=index, partition_error_code=found[topic.name, index]
                    )
                )
                yield _WEIGHT
            yield _WEIGHT
    if version >= _MANY_SINCE:
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results)
