"""UnregisterBroker (key 64, version 0): remove the registration of a broker (KIP-631).

As in Kafka, a running broker can be unregistered: clients no longer find it until it is started again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.errors import KafkaError


def handle(broker: Broker, ctx: RequestContext, request: UnregisterBrokerRequest) -> Deferred[UnregisterBrokerResponse]:
    del ctx
    forgotten = broker.controller.unregister_broker(request.broker_id)
    return forgotten.map(lambda _: UnregisterBrokerResponse())


def failed(request: UnregisterBrokerRequest, version: int, error: KafkaError) -> UnregisterBrokerResponse:
    """The request is refused: the broker is not registered, or the metadata log cannot be written."""
    del request, version
    return UnregisterBrokerResponse(error_code=error.code, error_message=error.message)
