"""CreateDelegationToken (key 38, versions 1 to 3): a secret with which a client authenticates as the token's owner (KIP-48).

A client that authenticated with a token, or not at all (PLAINTEXT), is refused: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED. The
owner is the requester or, with CREATE_TOKENS on it, another user (v3, KIP-373). v2: flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pykbroker.security.principals import ANONYMOUS
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.internal.delegation_token_record import DelegationTokenRecord

_USER: Final = "User"
_SOMEBODY_ELSE_SINCE: Final = 3


def handle(
    broker: Broker, ctx: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse | Deferred[CreateDelegationTokenResponse]:
    from pykbroker.controller.delegation_tokens import NewToken

    if request.owner_principal_type is None and request.owner_principal_name:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)  # an owner without a type: Apache Kafka answers so
    if not is_allowed(broker, ctx):
        return refused(ctx, request, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    if any(renewer.principal_type != _USER for renewer in request.renewers):
        return refused(ctx, request, ErrorCode.INVALID_PRINCIPAL_TYPE)
    renewers = [f"{renewer.principal_type}:{renewer.principal_name}" for renewer in request.renewers]
    wanted = NewToken(owner_of(ctx, request), ctx.principal, renewers, request.max_lifetime_ms)

    def created(token: DelegationTokenRecord) -> CreateDelegationTokenResponse:
        secrets = broker.token_secrets
        assert secrets is not None, "a token was made with its key"
        answer = _about(ctx, request)
        answer.issue_timestamp_ms = token.issue_timestamp
        answer.expiry_timestamp_ms = token.expiration_timestamp
        answer.max_timestamp_ms = token.max_timestamp
        answer.token_id = token.token_id
        answer.hmac = secrets.hmac(token.token_id)
        return answer

    asked = broker.controller.create_delegation_token(wanted).map(created)
    return asked.recover(KafkaError, lambda error: refused(ctx, request, error.code, never_ms=0))


def failed(request: CreateDelegationTokenRequest, version: int, error: KafkaError) -> CreateDelegationTokenResponse:
    """The answer names no owner, as in Kafka."""
    del request
    kind, _, name = ANONYMOUS.partition(":")
    answer = CreateDelegationTokenResponse(error.code, kind, name, "", "", -1, -1, -1)
    if version >= _SOMEBODY_ELSE_SINCE:
        answer.token_requester_principal_type, answer.token_requester_principal_name = kind, name
    return answer


def is_allowed(broker: Broker, ctx: RequestContext) -> bool:
    """Whether the client's authentication permits requests about tokens."""
    from pykbroker.security.delegation_tokens import may_ask

    return may_ask(ctx, broker.config.security_protocols)


def owner_of(ctx: RequestContext, request: CreateDelegationTokenRequest) -> str:
    """The owner of the token to be created: the requester, if the request names nobody."""
    return ":".join(_named(ctx, request))


def refused(
    ctx: RequestContext, request: CreateDelegationTokenRequest, code: ErrorCode, *, never_ms: int = -1
) -> CreateDelegationTokenResponse:
    """The answer without a token. Kafka's times in it differ between refusals by the controller and by the broker."""
    answer = _about(ctx, request)
    answer.error_code = code
    answer.issue_timestamp_ms = answer.expiry_timestamp_ms = answer.max_timestamp_ms = never_ms
    return answer


def _named(ctx: RequestContext, request: CreateDelegationTokenRequest) -> tuple[str, str]:
    if request.owner_principal_type is not None and request.owner_principal_name:
        return request.owner_principal_type, request.owner_principal_name
    kind, _, name = ctx.principal.partition(":")
    return kind, name


def _about(ctx: RequestContext, request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
    kind, name = _named(ctx, request)
    answer = CreateDelegationTokenResponse(principal_type=kind, principal_name=name)
    if ctx.api_version >= _SOMEBODY_ELSE_SINCE:
        answer.token_requester_principal_type, _, answer.token_requester_principal_name = ctx.principal.partition(":")
    return answer
