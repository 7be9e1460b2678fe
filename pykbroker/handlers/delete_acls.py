"""DeleteAcls (key 31, versions 1 to 3): remove the access lists that filters match (KIP-140).

There is no authorizer, so each filter is answered SECURITY_DISABLED, as by Apache Kafka without one; what a log directory
holds of access lists stays. v2: flexible; v3: user resources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.security.access_lists import NO_AUTHORIZER, check_codes
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext


def handle(broker: Broker, ctx: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse:
    del broker, ctx
    for filter_ in request.filters:
        check_codes(filter_, filter_.resource_type_filter, filter_.pattern_type_filter)
    refused = DeleteAclsFilterResult(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    return DeleteAclsResponse(filter_results=[refused] * len(request.filters))
