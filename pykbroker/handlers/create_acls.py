"""CreateAcls (key 30, versions 1 to 3): add access lists (KIP-140, prefixes of names by KIP-290).

Adding an access list that exists succeeds and changes nothing. Without an authorizer each is answered SECURITY_DISABLED.
v2: flexible; v3: user resources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.contract import CloseConnection
from pykbroker.handlers.in_slices import flat, in_slices, in_turn, kept, mapped
from pykbroker.runtime.waits import as_wait
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
    from pykbroker.runtime.slices import Steps, Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


#: Access lists that are added together.
_AT_ONCE = 100
#: The weight of a look at an access list.
_WEIGHT = 0.5


def handle(
    broker: Broker, ctx: RequestContext, request: CreateAclsRequest
) -> CreateAclsResponse | Deferred[CreateAclsResponse]:
    return in_slices(broker, ctx, _work(broker, ctx, request))


def _work(broker: Broker, ctx: RequestContext, request: CreateAclsRequest) -> Work[CreateAclsResponse]:
    yield from check(request)
    if broker.authorizer is None:
        raise KafkaError(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
    from pykbroker.controller.acls import says_any

    acls = yield from mapped(request.creations, _acl)
    odd = yield from kept(acls, says_any, _WEIGHT)
    if odd:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)  # as Apache Kafka answers it
    answered = in_turn(broker, ctx, acls, broker.controller.create_acls, _AT_ONCE)
    return answered.chain(lambda parts: as_wait(in_slices(broker, ctx, _answered(parts))))


def _answered(parts: list[list[KafkaError | None]]) -> Work[CreateAclsResponse]:
    results = yield from mapped(flat(parts), _result)
    return CreateAclsResponse(results=results)


def check(request: CreateAclsRequest) -> Steps:
    """In slices, before any authorization. Raises CloseConnection for a request that Kafka cannot parse."""
    try:
        for creation in request.creations:
            check_codes(creation, creation.resource_type, creation.resource_pattern_type)
            yield _WEIGHT
    except KafkaError as error:
        raise CloseConnection(f"CREATE_ACLS failed: {error}") from error


def failed(request: CreateAclsRequest, version: int, error: KafkaError) -> CreateAclsResponse:
    """The request as a whole is refused: every access list carries the error."""
    del version
    return CreateAclsResponse(results=[_result(error)] * len(request.creations))


def _result(error: KafkaError | None) -> AclCreationResult:
    if error is None:
        return AclCreationResult(error_code=ErrorCode.NONE, error_message="")
    said = None if error.code is ErrorCode.UNKNOWN_SERVER_ERROR else error.message
    return AclCreationResult(error_code=error.code, error_message=said)


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
