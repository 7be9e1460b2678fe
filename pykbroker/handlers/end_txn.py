"""EndTxn (key 26), versions 0 to 5: commit or abort a transaction.

From version 5 (transaction version 2, KIP-890) every end raises the epoch, the answer carries the producer id and epoch to
use next, and a transaction that was never begun can be aborted. Before version 2 PRODUCER_FENCED is answered as
INVALID_PRODUCER_EPOCH.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.runtime.waits import apply
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.end_txn import EndTxnResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.transactions.coordinator import ProducerIdentity
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.end_txn import EndTxnRequest

_FENCED_SINCE = 2
_EPOCH_BUMP_SINCE = 5


def handle(broker: Broker, ctx: RequestContext, request: EndTxnRequest) -> EndTxnResponse | Deferred[EndTxnResponse]:
    bumps = ctx.api_version >= _EPOCH_BUMP_SINCE

    def answer(identity: ProducerIdentity) -> EndTxnResponse:
        if not bumps:
            return EndTxnResponse()
        return EndTxnResponse(producer_id=identity.producer_id, producer_epoch=identity.epoch)

    ended = broker.transactions.end(
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        commit=request.committed,
        client_version=2 if bumps else 0,
    )
    return apply(answer, ended)


def failed(request: EndTxnRequest, version: int, error: KafkaError) -> EndTxnResponse:
    code = error.code
    if code is ErrorCode.PRODUCER_FENCED and version < _FENCED_SINCE:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return EndTxnResponse(error_code=code)
