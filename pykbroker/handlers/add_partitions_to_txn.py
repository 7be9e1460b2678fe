"""AddPartitionsToTxn (key 24), versions 0 to 5: partitions become part of a transaction.

Up to version 3 a producer names one transaction; from version 4 on brokers name many, and may only ask whether the
partitions are part of them (KIP-890). One partition that does not exist spoils all of its transaction: the others are
answered OPERATION_NOT_ATTEMPTED. Before version 2 PRODUCER_FENCED is told as INVALID_PRODUCER_EPOCH.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred, attempt, gather
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

if TYPE_CHECKING:
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
    if not transactions:
        return AddPartitionsToTxnResponse()
    codes = gather([_ask(broker, ctx.api_version, transaction) for transaction in transactions])
    return codes.map(lambda found: _response(transactions, found, ctx.api_version))


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


def _ask(broker: Broker, version: int, transaction: AddPartitionsToTxnTransaction) -> Deferred[Codes]:
    """Carry out one transaction's part: a code for each of its partitions."""
    wanted = [(topic.name, index) for topic in transaction.topics for index in topic.partitions]
    missing = {each for each in wanted if broker.cluster.partition(*each) is None}
    if missing:
        return Deferred.completed(
            {
                each: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if each in missing else ErrorCode.OPERATION_NOT_ATTEMPTED
                for each in wanted
            }
        )

    def refused(error: KafkaError) -> Codes:
        code = error.code
        if code is ErrorCode.PRODUCER_FENCED and version < _FENCED_SINCE:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        return dict.fromkeys(wanted, code)

    coordinator = broker.cluster.transactions
    identity = (transaction.transactional_id, transaction.producer_id, transaction.producer_epoch)

    def asked() -> Deferred[Codes]:
        if transaction.verify_only:
            return coordinator.verify_partitions(broker, *identity, wanted)
        client_version = _BROKERS_TRANSACTION_VERSION if version >= _MANY_SINCE else 0
        added = coordinator.add_partitions(broker, *identity, wanted, client_version=client_version)
        return added.map(lambda _: dict.fromkeys(wanted, ErrorCode.NONE))

    return attempt(asked).recover(KafkaError, refused)


def _response(
    transactions: list[AddPartitionsToTxnTransaction], codes: list[Codes], version: int
) -> AddPartitionsToTxnResponse:
    results = [
        AddPartitionsToTxnResult(
            transactional_id=transaction.transactional_id,
            topic_results=[
                AddPartitionsToTxnTopicResult(
                    name=topic.name,
                    results_by_partition=[
                        AddPartitionsToTxnPartitionResult(
                            partition_index=index, partition_error_code=found[topic.name, index]
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
