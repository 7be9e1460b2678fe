"""ListTransactions (key 66), versions 0 to 2 (KIP-664): the transactional ids that this broker coordinates.

All filters must match: states, producer ids, from version 1 the least duration of the transaction (ms), from version 2 a
pattern (RE2 syntax) for the whole id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.transactions.transaction import TransactionState
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.list_transactions import ListTransactionsResponse
from pykbroker.wire.messages.list_transactions import TransactionState as ListedTransaction

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.groups.patterns import Pattern
    from pykbroker.coordination.transactions.transaction import Transaction
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.list_transactions import ListTransactionsRequest

_STATES = {state.title: state for state in TransactionState}


def handle(broker: Broker, ctx: RequestContext, request: ListTransactionsRequest) -> Deferred[ListTransactionsResponse]:
    states = {_STATES[name] for name in request.state_filters if name in _STATES}
    pattern = _pattern(request.transactional_id_pattern)
    now_ms = broker.cluster.runtime.clock.now_ms()

    def wanted(each: Transaction) -> bool:
        if request.producer_id_filters and each.producer_id not in request.producer_id_filters:
            return False
        if request.state_filters and each.state not in states:
            return False
        # As in Kafka, an id without a transaction has start time -1, so it passes every duration.
        if request.duration_filter >= 0 and now_ms - each.start_ms <= request.duration_filter:
            return False
        return pattern is None or pattern.matches(each.transactional_id)

    def listed(transactions: list[Transaction]) -> ListTransactionsResponse:
        return ListTransactionsResponse(
            unknown_state_filters=[name for name in request.state_filters if name not in _STATES],
            transaction_states=[
                ListedTransaction(
                    transactional_id=each.transactional_id,
                    producer_id=each.producer_id,
                    transaction_state=each.state.title,
                )
                for each in transactions
                if wanted(each)
            ],
        )

    return broker.cluster.transactions.transactions(broker).map(listed)


def failed(request: ListTransactionsRequest, version: int, error: KafkaError) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=error.code)


def _pattern(text: str | None) -> Pattern | None:
    """The compiled pattern. Raises KafkaError INVALID_REGULAR_EXPRESSION."""
    if not text:
        return None
    from pykbroker.coordination.groups.patterns import InvalidPattern, compile_pattern  # noqa: PLC0415 - start-up counts

    try:
        return compile_pattern(text)
    except InvalidPattern as error:
        raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, str(error)) from None
