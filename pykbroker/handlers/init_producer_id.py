"""InitProducerId (key 22), versions 0 to 5: a producer id for an idempotent producer (KIP-98, KIP-360).

Ids come from blocks that the metadata log hands out. Left out: transactional ids, which are refused with
COORDINATOR_NOT_AVAILABLE as long as no transaction coordinator is served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.errors import ErrorCode, KafkaError
from wire.messages.init_producer_id import InitProducerIdResponse

if TYPE_CHECKING:
    from pykbroker.broker import Broker
    from pykbroker.context import RequestContext
    from wire.messages.init_producer_id import InitProducerIdRequest


def handle(broker: Broker, ctx: RequestContext, request: InitProducerIdRequest) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE if request.transactional_id else ErrorCode.INVALID_REQUEST
        return failed(request, ctx.api_version, KafkaError(code))
    return InitProducerIdResponse(producer_id=broker.next_producer_id(), producer_epoch=0)


def failed(request: InitProducerIdRequest, version: int, error: KafkaError) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error.code, producer_id=-1, producer_epoch=-1)
