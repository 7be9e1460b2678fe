"""DescribeUserScramCredentials (key 50, version 0): mechanisms and iterations of users' credentials (KIP-554).

Salts and keys are never answered. Null or an empty list means all users that have credentials.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pykbroker.controller.scram import describe_credentials
from pykbroker.handlers.in_slices import WEIGHT_OF_A_PART, in_slices
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.internal.user_scram_credential_record import UserScramCredentialRecord

#: Users that are described together.
_AT_ONCE = 1000


def handle(
    broker: Broker, ctx: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse | Deferred[DescribeUserScramCredentialsResponse]:
    times = Counter([user.name for user in request.users or ()])
    if len(times) <= _AT_ONCE:
        return DescribeUserScramCredentialsResponse(results=_described(broker, list(times.elements())))
    return in_slices(broker, ctx, _work(broker, times))


def _work(broker: Broker, times: Counter[str]) -> Work[DescribeUserScramCredentialsResponse]:
    response = DescribeUserScramCredentialsResponse()
    users = list(times)
    for begin in range(0, len(users), _AT_ONCE):
        some = users[begin : begin + _AT_ONCE]
        response.results += _described(broker, [user for user in some for _ in range(min(times[user], 2))])
        yield WEIGHT_OF_A_PART
    return response


def _described(broker: Broker, users: list[str]) -> list[DescribeUserScramCredentialsResult]:
    described = describe_credentials(broker.metadata.image, users)
    return [_result(user, found) for user, found in described.items()]


def failed(
    request: DescribeUserScramCredentialsRequest, version: int, error: KafkaError
) -> DescribeUserScramCredentialsResponse:
    """The request as a whole is refused: one result per user, without its name, as in Kafka."""
    del version
    return DescribeUserScramCredentialsResponse(
        error_code=error.code,
        error_message=error.given_message,
        results=[
            DescribeUserScramCredentialsResult(error_code=error.code, error_message=None) for _ in request.users or ()
        ],
    )


def _result(user: str, found: list[UserScramCredentialRecord] | KafkaError) -> DescribeUserScramCredentialsResult:
    if isinstance(found, KafkaError):
        return DescribeUserScramCredentialsResult(user=user, error_code=found.code, error_message=found.message)
    infos = [CredentialInfo(mechanism=known.mechanism, iterations=known.iterations) for known in found]
    return DescribeUserScramCredentialsResult(user=user, credential_infos=infos)
