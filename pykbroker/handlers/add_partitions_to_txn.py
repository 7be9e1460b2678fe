"""AddPartitionsToTxn (key 24), versions 0 to 5: partitions become part of a transaction.

Up to version 3 a producer names one transaction; from version 4 on brokers name many, and may only ask whether the
partitions are part of them (KIP-890). One partition that does not exist spoils all of its transaction: the others are
answered OPERATION_NOT_ATTEMPTED. Before version 2 PRODUCER_FENCED is told as INVALID_PRODUCER_EPOCH.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.transactions.transaction import TopicPartition
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest

    Codes = dict[TopicPartition, ErrorCode]

_FENCED_SINCE = 2
_MANY_SINCE = 4
#: The transaction version that a request's version speaks of.
_BROKERS_TRANSACTION_VERSION = 2


def handle(
    broker: Broker, ctx: RequestContext, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse | Deferred[AddPartitionsToTxnResponse]:
    transactions = _transactions(request, ctx.api_version)
    codes: list[Codes | None] = [None] * len(transactions)
    response: Deferred[AddPartitionsToTxnResponse] = Deferred()

    def answered(number: int, found: Codes) -> None:
        codes[number] = found
        if all(each is not None for each in codes):
            response.complete(_response(transactions, codes, ctx.api_version))

    for number, transaction in enumerate(transactions):
        _ask(broker, ctx.api_version, transaction, partial(answered, number))
    if not transactions:
        return AddPartitionsToTxnResponse()
    return response


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
    broker: Broker, version: int, transaction: AddPartitionsToTxnTransaction, answer: Callable[[Codes], None]
) -> None:
    """Carry out one transaction's part; ``answer`` gets a code for each of its partitions."""
    wanted = [(topic.name, index) for topic in transaction.topics for index in topic.partitions]
    missing = {each for each in wanted if broker.cluster.partition(*each) is None}
    if missing:
        answer(
            {
                each: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if each in missing else ErrorCode.OPERATION_NOT_ATTEMPTED
                for each in wanted
            }
        )
        return

    def refused(error: KafkaError) -> None:
        code = error.code
        if code is ErrorCode.PRODUCER_FENCED and version < _FENCED_SINCE:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        answer(dict.fromkeys(wanted, code))

    def added(done: Deferred[None]) -> None:
        try:
            _ = done.value
        except KafkaError as error:
            refused(error)
        else:
            answer(dict.fromkeys(wanted, ErrorCode.NONE))

    coordinator = broker.cluster.transactions
    identity = (transaction.transactional_id, transaction.producer_id, transaction.producer_epoch)
    try:
        if transaction.verify_only:
            answer(coordinator.verify_partitions(broker, *identity, wanted))
        else:
            client_version = _BROKERS_TRANSACTION_VERSION if version >= _MANY_SINCE else 0
            coordinator.add_partitions(broker, *identity, wanted, client_version=client_version).then(added)
    except KafkaError as error:
        refused(error)


def _response(
    transactions: list[AddPartitionsToTxnTransaction], codes: list[Codes | None], version: int
) -> AddPartitionsToTxnResponse:
    results = [
        AddPartitionsToTxnResult(
            transactional_id=transaction.transactional_id,
            topic_results=[
                AddPartitionsToTxnTopicResult(
                    name=topic.name,
                    results_by_partition=[
                        AddPartitionsToTxnPartitionResult(
                            partition_index=index, partition_error_code=(found or {})[topic.name, index]
                        )
                        for index in topic.partitions
                    ],
                )
                for topic in transaction.topics
            ],
        )
        for transaction, found in zip(transactions, codes, strict=True)
    ]
    if version >= _MANY_SINCE:
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results)
