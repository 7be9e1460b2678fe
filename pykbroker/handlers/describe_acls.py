"""DescribeAcls (key 29, versions 1 to 3): the access lists that a filter matches, grouped by resource (KIP-140).

Without an authorizer the answer is SECURITY_DISABLED. v2: flexible; v3: user resources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.contract import CloseConnection
from pykbroker.handlers.in_slices import in_slices
from pykbroker.security.access_lists import NO_AUTHORIZER_ON_THE_BROKER, check_codes
from pykbroker.security.acl import Acl, AclFilter
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.slices import Steps, Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext

#: The weight of an access list that a filter is compared with.
_WEIGHT = 0.5


def handle(
    broker: Broker, ctx: RequestContext, request: DescribeAclsRequest
) -> DescribeAclsResponse | Deferred[DescribeAclsResponse]:
    for _ in check(request):
        pass
    if broker.authorizer is None:
        raise KafkaError(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER_ON_THE_BROKER)
    wanted = AclFilter(
        request.resource_type_filter,
        request.resource_name_filter,
        request.pattern_type_filter,
        request.principal_filter,
        request.host_filter,
        request.operation,
        request.permission_type,
    )
    return in_slices(broker, ctx, _described(broker, wanted))


def _described(broker: Broker, wanted: AclFilter) -> Work[DescribeAclsResponse]:
    resources: dict[tuple[int, str, int], DescribeAclsResource] = {}
    for record in list(broker.metadata.image.acls.values()):
        acl = Acl.of(record)
        if wanted.matches(acl):
            resource = resources.setdefault(acl[:3], DescribeAclsResource(*acl[:3]))
            resource.acls.append(AclDescription(acl.principal, acl.host, acl.operation, acl.permission_type))
        yield _WEIGHT
    return DescribeAclsResponse(error_message="", resources=list(resources.values()))


def check(request: DescribeAclsRequest) -> Steps:
    """One step, before any authorization. Raises CloseConnection for a request that Kafka cannot parse."""
    try:
        check_codes(request, request.resource_type_filter, request.pattern_type_filter)
        yield _WEIGHT
    except KafkaError as error:
        raise CloseConnection(f"DESCRIBE_ACLS failed: {error}") from error


def failed(request: DescribeAclsRequest, version: int, error: KafkaError) -> DescribeAclsResponse:
    del request, version
    return DescribeAclsResponse(error_code=error.code, error_message=error.message)
