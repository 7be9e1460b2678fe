"""InitProducerId (key 22), versions 0 to 5: a producer id and epoch.

Without a transactional id, for an idempotent producer (KIP-98): a new producer id from the broker's block; only the first
request waits for a block. With one, a new epoch of a transactional producer: see ``transactions/initializing.py``. A
recovering producer names its id and epoch from version 3 (KIP-360). Before version 4 PRODUCER_FENCED is answered as
INVALID_PRODUCER_EPOCH.

Left out: two-phase commit (version 6, KIP-939), which Apache Kafka 4.4.0 does not serve either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.transactions.initializing import Expected
from pykbroker.runtime.waits import as_wait
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.init_producer_id import InitProducerIdResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest

_FENCED_SINCE = 4
_UNKNOWN = -1


def handle(
    broker: Broker, ctx: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | Deferred[InitProducerIdResponse]:
    expected = _expected(request)
    transactional_id = request.transactional_id
    awaited = broker.producer_ids.awaited()
    if transactional_id is None:
        return _new(broker) if awaited is None else awaited.map(lambda _: _new(broker))

    def init(_: None = None) -> Deferred[InitProducerIdResponse]:
        given = broker.transactions.init_producer_id(transactional_id, request.transaction_timeout_ms, expected)
        return as_wait(given).map(
            lambda identity: InitProducerIdResponse(producer_id=identity.producer_id, producer_epoch=identity.epoch)
        )

    # settled: a known transactional id needs no block of producer ids
    return init() if awaited is None else awaited.settled().chain(init)


def _new(broker: Broker) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=broker.producer_ids.take(), producer_epoch=0)


def failed(request: InitProducerIdRequest, version: int, error: KafkaError) -> InitProducerIdResponse:
    code = error.code
    if code is ErrorCode.PRODUCER_FENCED and version < _FENCED_SINCE:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)


def _expected(request: InitProducerIdRequest) -> Expected | None:
    """The id and epoch that a recovering producer names, None if neither. Raises KafkaError INVALID_REQUEST for one alone."""
    if request.producer_id == request.producer_epoch == _UNKNOWN:
        return None
    if _UNKNOWN in (request.producer_id, request.producer_epoch):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    return Expected(request.producer_id, request.producer_epoch)
