"""DescribeTransactions (key 65), version 0 (KIP-664): the coordinator's state of transactional ids."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.handlers.in_slices import each
from pykbroker.runtime.waits import apply, attempt
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsResponse, TopicData, TransactionState

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.transactions.transaction import Transaction
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest


def handle(
    broker: Broker, ctx: RequestContext, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse | Deferred[DescribeTransactionsResponse]:
    described = each(broker, ctx, request.transactional_ids, partial(_describe, broker), once=str)
    return apply(lambda states: DescribeTransactionsResponse(transaction_states=states), described)


def failed(request: DescribeTransactionsRequest, version: int, error: KafkaError) -> DescribeTransactionsResponse:
    """The request as a whole is refused: every transactional id carries the error."""
    del version
    states = [TransactionState(transactional_id=each, error_code=error.code) for each in request.transactional_ids]
    return DescribeTransactionsResponse(transaction_states=states)


def _describe(broker: Broker, transactional_id: str) -> Deferred[TransactionState]:
    found = attempt(broker.transactions.transaction, transactional_id).map(
        lambda transaction: _state(transactional_id, transaction)
    )
    return found.recover(
        KafkaError, lambda error: TransactionState(transactional_id=transactional_id, error_code=error.code)
    )


def _state(transactional_id: str, transaction: Transaction | None) -> TransactionState:
    if transaction is None:
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
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
