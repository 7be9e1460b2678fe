"""CreateAcls (key 30, versions 1 to 3): add access lists (KIP-140).

There is no authorizer, so each is answered SECURITY_DISABLED, as by Apache Kafka without one; nothing is kept.
v2: flexible; v3: user resources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.security.access_lists import NO_AUTHORIZER, check_codes
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext


def handle(broker: Broker, ctx: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
    del broker, ctx
    for creation in request.creations:
        check_codes(creation, creation.resource_type, creation.resource_pattern_type)
    refused = AclCreationResult(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    return CreateAclsResponse(results=[refused] * len(request.creations))
