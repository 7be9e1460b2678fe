"""ListTransactions (key 66), versions 0 to 2 (KIP-664): the transactional ids that this broker coordinates.

All filters must match: states, producer ids, from version 1 the least duration of the transaction (ms), from version 2 a
pattern (RE2 syntax) for the whole id.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.transactions.transaction import TransactionState
from pykbroker.handlers.in_slices import in_slices
from pykbroker.runtime.waits import apply, as_wait
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.list_transactions import ListTransactionsResponse
from pykbroker.wire.messages.list_transactions import TransactionState as ListedTransaction

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.groups.patterns import Pattern
    from pykbroker.coordination.transactions.transaction import Transaction
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.list_transactions import ListTransactionsRequest

_STATES = {state.title: state for state in TransactionState}


#: The weight of looking at a transactional id.
_WEIGHT = 0.2


def handle(
    broker: Broker, ctx: RequestContext, request: ListTransactionsRequest
) -> ListTransactionsResponse | Deferred[ListTransactionsResponse]:
    return in_slices(broker, ctx, _listed(broker, request))


def _listed(broker: Broker, request: ListTransactionsRequest) -> Work[ListTransactionsResponse]:
    states = {_STATES[name] for name in request.state_filters if name in _STATES}
    pattern = _pattern(request.transactional_id_pattern)
    now_ms = broker.runtime.clock.now_ms()

    producers = frozenset(request.producer_id_filters)

    def listed(each: Transaction) -> ListedTransaction | None:
        if producers and each.producer_id not in producers:
            return None
        if request.state_filters and each.state not in states:
            return None
        # As in Kafka, an id without a transaction has start time -1, so it passes every duration.
        if request.duration_filter >= 0 and now_ms - each.start_ms <= request.duration_filter:
            return None
        return ListedTransaction(
            transactional_id=each.transactional_id, producer_id=each.producer_id, transaction_state=each.state.title
        )

    unknown = [name for name in dict.fromkeys(request.state_filters) if name not in _STATES]
    found = yield from broker.transactions.describe_all(listed, _WEIGHT)

    def response(found: list[ListedTransaction]) -> ListTransactionsResponse:
        return ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=found)

    if pattern is None:
        return apply(response, found)
    return as_wait(found).chain(partial(_matching, broker, pattern)).map(response)


def _matching(broker: Broker, pattern: Pattern, found: list[ListedTransaction]) -> Deferred[list[ListedTransaction]]:
    from pykbroker.coordination.groups.matching import those_of

    by_id = {each.transactional_id: each for each in found}
    matched = those_of(broker.runtime, pattern, list(by_id))
    return matched.map(lambda ids: [by_id[each] for each in ids])


def failed(request: ListTransactionsRequest, version: int, error: KafkaError) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=error.code)


def _pattern(text: str | None) -> Pattern | None:
    """The compiled pattern. Raises KafkaError INVALID_REGULAR_EXPRESSION."""
    if not text:
        return None
    from pykbroker.coordination.groups.patterns import InvalidPattern, compile_pattern

    try:
        return compile_pattern(text)
    except InvalidPattern as error:
        raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, str(error)) from None
