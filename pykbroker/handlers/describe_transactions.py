"""DescribeTransactions (key 65), version 0 (KIP-664): what the coordinator knows of transactional ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsResponse, TopicData, TransactionState

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.transactions.transaction import Transaction
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest


def handle(broker: Broker, ctx: RequestContext, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[_state(broker, transactional_id) for transactional_id in request.transactional_ids]
    )


def _state(broker: Broker, transactional_id: str) -> TransactionState:
    try:
        transaction = broker.cluster.transactions.transaction(broker, transactional_id)
        if transaction is None:
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    except KafkaError as error:
        return TransactionState(transactional_id=transactional_id, error_code=error.code)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=transaction.state.title,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.start_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=_topics(transaction),
    )


def _topics(transaction: Transaction) -> list[TopicData]:
    topics: dict[str, TopicData] = {}
    for topic, index in sorted(transaction.partitions):
        topics.setdefault(topic, TopicData(topic=topic)).partitions.append(index)
    return list(topics.values())
