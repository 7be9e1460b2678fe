"""SaslAuthenticate (key 36, versions 0 to 2): a step of signing in (KIP-152).

What comes here has signed in already, or cannot, on a listener without SASL: ILLEGAL_SASL_STATE whatever is sent, in Apache
Kafka's words. Who signs in is answered by ``requests/authentication.py``. v1: how long the session lasts (KIP-368). v2: flexible.
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
