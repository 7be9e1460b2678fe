"""DescribeAcls (key 29, versions 1 to 3): the access lists that a filter matches (KIP-140).

There is no authorizer, so the answer is SECURITY_DISABLED, as Apache Kafka's without one. v2: flexible; v3: user resources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.security.access_lists import NO_AUTHORIZER_ON_THE_BROKER, check_codes
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext


def handle(broker: Broker, ctx: RequestContext, request: DescribeAclsRequest) -> DescribeAclsResponse:
    del broker, ctx
    check_codes(request, request.resource_type_filter, request.pattern_type_filter)
    return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER_ON_THE_BROKER)
