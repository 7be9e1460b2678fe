"""UnregisterController (key 94, version 0): remove the registration of a controller, since metadata.version 4.4-IV2.

The active controller, which is this process, cannot be unregistered; others are registered only by Apache Kafka on the same metadata
log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.messages.unregister_controller import UnregisterControllerResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.errors import KafkaError
    from pykbroker.wire.messages.unregister_controller import UnregisterControllerRequest


def handle(
    broker: Broker, ctx: RequestContext, request: UnregisterControllerRequest
) -> Deferred[UnregisterControllerResponse]:
    del ctx
    forgotten = broker.controller.unregister_controller(request.controller_id)
    return forgotten.map(lambda _: UnregisterControllerResponse())


def failed(request: UnregisterControllerRequest, version: int, error: KafkaError) -> UnregisterControllerResponse:
    """The request is refused: the controller is the active one or not registered, or the metadata log cannot be written."""
    del request, version
    return UnregisterControllerResponse(error_code=error.code, error_message=error.message)
