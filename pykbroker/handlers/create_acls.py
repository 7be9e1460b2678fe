"""CreateAcls (key 30, versions 1 to 3): add access lists (KIP-140, prefixes of names by KIP-290).

Adding an access list that exists succeeds and changes nothing. Without an authorizer each is answered SECURITY_DISABLED.
v2: flexible; v3: user resources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.contract import CloseConnection
from pykbroker.handlers.in_slices import flat, in_slices, in_turn, mapped
from pykbroker.security.access_lists import NO_AUTHORIZER, check_codes
from pykbroker.security.acl import Acl
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


#: Access lists that are added together.
_AT_ONCE = 100


def handle(
    broker: Broker, ctx: RequestContext, request: CreateAclsRequest
) -> CreateAclsResponse | Deferred[CreateAclsResponse]:

    check(request)
    if broker.authorizer is None:
        return failed(request, ctx.api_version, KafkaError(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER))
    return in_slices(broker, ctx, _work(broker, ctx, request))


def _work(broker: Broker, ctx: RequestContext, request: CreateAclsRequest) -> Work[CreateAclsResponse]:
    from pykbroker.controller.acls import says_any  # noqa: PLC0415 - needed only with an authorizer

    acls = yield from mapped(request.creations, _acl)
    if any(map(says_any, acls)):
        return _response([(ErrorCode.UNKNOWN_SERVER_ERROR, None)] * len(acls))  # as Apache Kafka answers it

    answered = in_turn(broker, ctx, acls, broker.controller.create_acls, _AT_ONCE)
    return answered.map(
        lambda parts: _response(
            [(ErrorCode.NONE, "") if error is None else (error.code, error.message) for error in flat(parts)]
        )
    )


def check(request: CreateAclsRequest) -> None:
    """Raises CloseConnection for a request that Kafka cannot parse, before any authorization."""
    try:
        for creation in request.creations:
            check_codes(creation, creation.resource_type, creation.resource_pattern_type)
    except KafkaError as error:
        raise CloseConnection(f"CREATE_ACLS failed: {error}") from error


def failed(request: CreateAclsRequest, version: int, error: KafkaError) -> CreateAclsResponse:
    """The request as a whole is refused: every access list carries the error."""
    del version
    return _response([(error.code, error.message)] * len(request.creations))


def _response(results: list[tuple[ErrorCode, str | None]]) -> CreateAclsResponse:
    return CreateAclsResponse(
        results=[AclCreationResult(error_code=code, error_message=message) for code, message in results]
    )


def _acl(creation: AclCreation) -> Acl:
    return Acl(
        creation.resource_type,
        creation.resource_name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )
