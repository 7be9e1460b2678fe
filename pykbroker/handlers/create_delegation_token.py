"""CreateDelegationToken (key 38, versions 1 to 3): a secret by which a client signs in for an owner (KIP-48).

It is for who is known by name, and not by a token: else DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, and so over PLAINTEXT. Who asks
owns it, or has a right to tokens of the owner. v2: flexible; v3: a token for somebody else (KIP-373).
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
    from pykbroker.controller.delegation_tokens import NewToken  # noqa: PLC0415 - who may have none does without

    if request.owner_principal_type is None and request.owner_principal_name:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)  # a name and no type: as Apache Kafka answers it
    if not is_allowed(broker, ctx):
        return refused(ctx, request, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    if any(renewer.principal_type != _USER for renewer in request.renewers):
        return refused(ctx, request, ErrorCode.INVALID_PRINCIPAL_TYPE)
    renewers = [f"{renewer.principal_type}:{renewer.principal_name}" for renewer in request.renewers]
    wanted = NewToken(owner_of(ctx, request), ctx.principal, renewers, request.max_lifetime_ms)

    def created(token: DelegationTokenRecord) -> CreateDelegationTokenResponse:
        secrets = broker.cluster.token_secrets
        assert secrets is not None, "a token was made with its key"
        answer = _about(ctx, request)
        answer.issue_timestamp_ms = token.issue_timestamp
        answer.expiry_timestamp_ms = token.expiration_timestamp
        answer.max_timestamp_ms = token.max_timestamp
        answer.token_id = token.token_id
        answer.hmac = secrets.hmac(token.token_id)
        return answer

    asked = broker.cluster.controller.create_delegation_token(wanted).map(created)
    return asked.recover(KafkaError, lambda error: refused(ctx, request, error.code, never_ms=0))


def failed(request: CreateDelegationTokenRequest, version: int, error: KafkaError) -> CreateDelegationTokenResponse:
    """Nobody is named, as in Kafka."""
    del request
    kind, _, name = ANONYMOUS.partition(":")
    answer = CreateDelegationTokenResponse(error.code, kind, name, "", "", -1, -1, -1)
    if version >= _SOMEBODY_ELSE_SINCE:
        answer.token_requester_principal_type, answer.token_requester_principal_name = kind, name
    return answer


def is_allowed(broker: Broker, ctx: RequestContext) -> bool:
    """Whether who asks may ask for tokens."""
    from pykbroker.security.delegation_tokens import may_ask  # noqa: PLC0415 - start-up counts

    return may_ask(ctx, broker.cluster.config.security_protocols)


def owner_of(ctx: RequestContext, request: CreateDelegationTokenRequest) -> str:
    """Whose token it is to be: who asks, where nobody is named."""
    return ":".join(_named(ctx, request))


def refused(
    ctx: RequestContext, request: CreateDelegationTokenRequest, code: ErrorCode, *, never_ms: int = -1
) -> CreateDelegationTokenResponse:
    """There is no token. What the controller refuses, Kafka answers with other times than what the broker does."""
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
