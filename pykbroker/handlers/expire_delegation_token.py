"""ExpireDelegationToken (key 40, versions 1 to 2): let a delegation token expire sooner, or at once (KIP-48).

The token is named by its secret; its owner and its renewers may expire it. Connections that authenticated with it last until
the expiry time that held when they authenticated. v2: flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


def handle(
    broker: Broker, ctx: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse | Deferred[ExpireDelegationTokenResponse]:
    from pykbroker.security.delegation_tokens import may_ask

    if not may_ask(ctx, broker.config.security_protocols):
        return ExpireDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, -1)
    controller = broker.controller
    expired = controller.expire_delegation_token(ctx.principal, request.hmac, request.expiry_time_period_ms)
    answered = expired.map(lambda expires_ms: ExpireDelegationTokenResponse(ErrorCode.NONE, expires_ms))
    return answered.recover(KafkaError, lambda error: failed(request, ctx.api_version, error))


def failed(request: ExpireDelegationTokenRequest, version: int, error: KafkaError) -> ExpireDelegationTokenResponse:
    del request, version
    return ExpireDelegationTokenResponse(error.code)
