"""SaslHandshake (key 17, versions 0 to 1): which SASL mechanism a client will use (KIP-43, KIP-152).

What comes here has signed in already, or cannot, on a listener without SASL: ILLEGAL_SASL_STATE whatever the mechanism. Who
signs in is answered by ``requests/authentication.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext


def handle(broker: Broker, ctx: RequestContext, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    del broker, ctx, request
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)


def failed(request: SaslHandshakeRequest, version: int, error: KafkaError) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=error.code)
