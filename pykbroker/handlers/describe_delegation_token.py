"""DescribeDelegationToken (key 41, versions 1 to 3): the delegation tokens of owners, with their secrets (KIP-48).

A token is described to its owner, requester and renewers, and to those with DESCRIBE on the token or DESCRIBE_TOKENS on its
owner; others do not see it. Null owners mean all, an empty list none. v2: flexible; v3: the requester (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.security.operations import DESCRIBE, DESCRIBE_TOKENS
from pykbroker.security.resources import DELEGATION_TOKEN, USER
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext
    from pykbroker.security.delegation_tokens import TokenSecrets
    from pykbroker.wire.internal.delegation_token_record import DelegationTokenRecord

_REQUESTER_SINCE = 3


def handle(
    broker: Broker, ctx: RequestContext, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    from pykbroker.security.delegation_tokens import concerns, may_ask

    if not may_ask(ctx, broker.config.security_protocols):
        return DescribeDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    secrets = broker.token_secrets
    if secrets is None:
        return DescribeDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    tokens = list(broker.metadata.image.delegation_tokens.values())
    if request.owners is not None:
        owners = [f"{owner.principal_type}:{owner.principal_name}" for owner in request.owners]
        tokens = [token for token in tokens if any(concerns(token, owner) for owner in owners)]
    shown = (token for token in tokens if concerns(token, ctx.principal) or _may_see(broker, ctx, token))
    return DescribeDelegationTokenResponse(tokens=[_described(token, secrets, ctx.api_version) for token in shown])


def _may_see(broker: Broker, ctx: RequestContext, token: DelegationTokenRecord) -> bool:
    authorizer = broker.authorizer
    return (
        authorizer is None
        or authorizer.may(ctx, DESCRIBE, DELEGATION_TOKEN, token.token_id)
        or authorizer.may(ctx, DESCRIBE_TOKENS, USER, token.owner)
    )


def _described(token: DelegationTokenRecord, secrets: TokenSecrets, version: int) -> DescribedDelegationToken:
    kind, _, name = token.owner.partition(":")
    described = DescribedDelegationToken(
        principal_type=kind,
        principal_name=name,
        issue_timestamp=token.issue_timestamp,
        expiry_timestamp=token.expiration_timestamp,
        max_timestamp=token.max_timestamp,
        token_id=token.token_id,
        hmac=secrets.hmac(token.token_id),
        renewers=[DescribedDelegationTokenRenewer(*renewer.partition(":")[::2]) for renewer in token.renewers],
    )
    if version >= _REQUESTER_SINCE:
        requester = token.requester.partition(":")
        described.token_requester_principal_type, _, described.token_requester_principal_name = requester
    return described
