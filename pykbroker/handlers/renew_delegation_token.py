"""RenewDelegationToken (key 39, versions 1 to 2): extend the life of a delegation token (KIP-48).

The token is named by its secret; its owner and its renewers may renew it, up to its maximum lifetime. v2: flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


def handle(
    broker: Broker, ctx: RequestContext, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse | Deferred[RenewDelegationTokenResponse]:
    from pykbroker.security.delegation_tokens import may_ask

    if not may_ask(ctx, broker.config.security_protocols):
        return RenewDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, -1)
    renewed = broker.controller.renew_delegation_token(ctx.principal, request.hmac, request.renew_period_ms)
    answered = renewed.map(lambda expires_ms: RenewDelegationTokenResponse(ErrorCode.NONE, expires_ms))
    return answered.recover(KafkaError, lambda error: failed(request, ctx.api_version, error))


def failed(request: RenewDelegationTokenRequest, version: int, error: KafkaError) -> RenewDelegationTokenResponse:
    del request, version
    return RenewDelegationTokenResponse(error.code)
