"""CreateDelegationToken (key 38, versions 1 to 3): a secret by which a client signs in for an owner (KIP-48).

Over PLAINTEXT nobody is known by name, so there are no tokens to be had: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, as in Apache
Kafka. The answer names the owner. v2: flexible; v3: a token for somebody else (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext


def handle(broker: Broker, ctx: RequestContext, request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
    del broker
    requester = ctx.principal.partition(":")
    owner_type, owner_name = requester[::2]
    if request.owner_principal_type is not None and request.owner_principal_name:
        owner_type, owner_name = request.owner_principal_type, request.owner_principal_name
    response = CreateDelegationTokenResponse(
        error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
        principal_type=owner_type,
        principal_name=owner_name,
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )
    if ctx.api_version >= 3:
        response.token_requester_principal_type, _, response.token_requester_principal_name = requester
    return response
