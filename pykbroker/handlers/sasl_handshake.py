"""SaslHandshake (key 17, versions 0 to 1): the SASL mechanism that a client chooses (KIP-43, KIP-152).

``requests/authentication.py`` answers it during authentication. Here it comes after that, or on a listener without SASL, and
is answered ILLEGAL_SASL_STATE.
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
