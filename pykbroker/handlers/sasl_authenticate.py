"""SaslAuthenticate (key 36, versions 0 to 2): one step of SASL authentication (KIP-152).

``requests/authentication.py`` answers it during authentication. Here it comes after that, or on a listener without SASL, and
is answered ILLEGAL_SASL_STATE with Apache Kafka's message. v1: the session's lifetime (KIP-368). v2: flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext


def handle(broker: Broker, ctx: RequestContext, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    del broker, ctx, request
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )
