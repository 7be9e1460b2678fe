"""DeleteAcls (key 31, versions 1 to 3): remove the access lists that filters match (KIP-140).

The answer lists for each filter all that it matched, also where an earlier filter matched it. What many match is removed in several
changes of the metadata. Without an authorizer each filter is answered SECURITY_DISABLED and access lists in the metadata log stay.
v2: flexible; v3: user resources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.contract import CloseConnection
from pykbroker.handlers.in_slices import in_slices, in_turn, kept
from pykbroker.runtime.waits import as_wait
from pykbroker.security.access_lists import NO_AUTHORIZER, check_codes
from pykbroker.security.acl import Acl, AclFilter
from pykbroker.security.resources import MATCH
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.slices import Steps, Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


#: Access lists that are removed together.
_AT_ONCE = 100
#: The weight of an access list that a filter is compared with, or that is answered.
_WEIGHT = 0.5

_Found = list[Acl] | KafkaError


def handle(
    broker: Broker, ctx: RequestContext, request: DeleteAclsRequest
) -> DeleteAclsResponse | Deferred[DeleteAclsResponse]:
    return in_slices(broker, ctx, _work(broker, ctx, request))


def _work(broker: Broker, ctx: RequestContext, request: DeleteAclsRequest) -> Work[DeleteAclsResponse]:
    yield from check(request)
    if broker.authorizer is None:
        raise KafkaError(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
    found = yield from _found(broker, [_filter(each) for each in request.filters])
    matching: dict[Acl, None] = {}
    for each in found:
        if not isinstance(each, KafkaError):
            matching.update(dict.fromkeys(each))
        yield _WEIGHT
    exact = [AclFilter(*acl) for acl in matching]
    removed = in_turn(broker, ctx, exact, broker.controller.delete_acls, _AT_ONCE)
    return removed.chain(lambda parts: as_wait(in_slices(broker, ctx, _answered(found, parts))))


def _found(broker: Broker, filters: list[AclFilter]) -> Generator[float, None, list[_Found]]:
    """The access lists that each filter matches, or its error."""
    from pykbroker.controller.acls import check_filter

    acls: list[Acl] = []
    by_name: dict[str, list[Acl]] = {}
    for record in list(broker.metadata.image.acls.values()):
        acl = Acl.of(record)
        acls.append(acl)
        by_name.setdefault(acl.resource_name, []).append(acl)
        yield _WEIGHT
    known: dict[AclFilter, _Found] = {}
    for each in filters:
        if each not in known:
            try:
                check_filter(each)
            except KafkaError as error:
                known[each] = error
            else:
                name = None if each.pattern_type == MATCH else each.resource_name
                known[each] = yield from kept(acls if name is None else by_name.get(name, ()), each.matches, _WEIGHT)
        yield 1
    return [known[each] for each in filters]


def _answered(found: list[_Found], parts: list[list[_Found]]) -> Work[DeleteAclsResponse]:
    """The answer; what another request removed meanwhile is not in it."""
    removed: set[Acl] = set()
    for part in parts:
        removed.update(acl for each in part if not isinstance(each, KafkaError) for acl in each)
        yield _AT_ONCE * _WEIGHT
    response = DeleteAclsResponse()
    for each in found:
        if isinstance(each, KafkaError):
            response.filter_results.append(_refusal(each))
        else:
            acls = yield from kept(each, removed.__contains__, _WEIGHT)
            matching = [DeleteAclsMatchingAcl(0, None, *acl) for acl in acls]
            response.filter_results.append(DeleteAclsFilterResult(error_message=None, matching_acls=matching))
        yield 1
    return response


def check(request: DeleteAclsRequest) -> Steps:
    """In slices, before any authorization. Raises CloseConnection for a request that Kafka cannot parse."""
    try:
        for each in request.filters:
            check_codes(each, each.resource_type_filter, each.pattern_type_filter)
            yield _WEIGHT
    except KafkaError as error:
        raise CloseConnection(f"DELETE_ACLS failed: {error}") from error


def failed(request: DeleteAclsRequest, version: int, error: KafkaError) -> DeleteAclsResponse:
    """The request as a whole is refused: every filter carries the error."""
    del version
    return DeleteAclsResponse(filter_results=[_refusal(error)] * len(request.filters))


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


def _refusal(error: KafkaError) -> DeleteAclsFilterResult:
    return DeleteAclsFilterResult(error_code=error.code, error_message=error.message)
