"""DeleteAcls (key 31, versions 1 to 3): remove the access lists that filters match (KIP-140).

The answer lists for each filter all that it matched, also where an earlier filter matched it (unless the request has more
filters than are applied together). Without an authorizer each
filter is answered SECURITY_DISABLED and access lists in the metadata log stay. v2: flexible; v3: user resources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.contract import CloseConnection
from pykbroker.handlers.in_slices import flat, in_turn
from pykbroker.security.access_lists import NO_AUTHORIZER, check_codes
from pykbroker.security.acl import Acl, AclFilter
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


#: Filters that are applied together.
_AT_ONCE = 20


def handle(
    broker: Broker, ctx: RequestContext, request: DeleteAclsRequest
) -> DeleteAclsResponse | Deferred[DeleteAclsResponse]:
    check(request)
    if broker.authorizer is None:
        return failed(request, ctx.api_version, KafkaError(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER))

    def delete(some: Sequence[DeleteAclsFilter]) -> Deferred[list[DeleteAclsFilterResult]]:
        deleted = broker.controller.delete_acls([_filter(each) for each in some])
        return deleted.map(lambda results: [_result(each) for each in results])

    answered = in_turn(broker, ctx, request.filters, delete, _AT_ONCE)
    return answered.map(lambda results: DeleteAclsResponse(filter_results=flat(results)))


def check(request: DeleteAclsRequest) -> None:
    """Raises CloseConnection for a request that Kafka cannot parse, before any authorization."""
    try:
        for each in request.filters:
            check_codes(each, each.resource_type_filter, each.pattern_type_filter)
    except KafkaError as error:
        raise CloseConnection(f"DELETE_ACLS failed: {error}") from error


def failed(request: DeleteAclsRequest, version: int, error: KafkaError) -> DeleteAclsResponse:
    """The request as a whole is refused: every filter carries the error."""
    del version
    return DeleteAclsResponse(filter_results=[_result(error)] * len(request.filters))


def _filter(requested: DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        requested.resource_type_filter,
        requested.resource_name_filter,
        requested.pattern_type_filter,
        requested.principal_filter,
        requested.host_filter,
        requested.operation,
        requested.permission_type,
    )


def _result(result: list[Acl] | KafkaError) -> DeleteAclsFilterResult:
    if isinstance(result, KafkaError):
        return DeleteAclsFilterResult(error_code=result.code, error_message=result.message)
    matching = [DeleteAclsMatchingAcl(0, None, *acl) for acl in result]
    return DeleteAclsFilterResult(error_message=None, matching_acls=matching)
