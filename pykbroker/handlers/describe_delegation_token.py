"""DescribeDelegationToken (key 41, versions 1 to 3): the delegation tokens of owners (KIP-48).

There are none over PLAINTEXT: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, as in Apache Kafka. v2: flexible; v3: who asked for a token
(KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext


def handle(
    broker: Broker, ctx: RequestContext, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    del broker, ctx, request
    return DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
