"""AlterUserScramCredentials (key 51, version 0): set and delete SCRAM credentials of users (KIP-554).

The client sends a salted password; the metadata log holds the two keys derived from it, never the password.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.controller.scram import Deletion, Upsertion
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


def handle(
    broker: Broker, ctx: RequestContext, request: AlterUserScramCredentialsRequest
) -> Deferred[AlterUserScramCredentialsResponse]:
    del ctx
    altered = broker.cluster.controller.alter_scram_credentials(
        [Deletion(asked.name, asked.mechanism) for asked in request.deletions],
        [
            Upsertion(asked.name, asked.mechanism, asked.iterations, asked.salt, asked.salted_password)
            for asked in request.upsertions
        ],
    )
    return altered.map(
        lambda results: AlterUserScramCredentialsResponse(
            results=[_result(user, error) for user, error in results.items()]
        )
    )


def failed(
    request: AlterUserScramCredentialsRequest, version: int, error: KafkaError
) -> AlterUserScramCredentialsResponse:
    """The request as a whole is refused: every user carries the error."""
    del version
    users = dict.fromkeys([asked.name for asked in request.deletions] + [asked.name for asked in request.upsertions])
    return AlterUserScramCredentialsResponse(results=[_result(user, error) for user in users])


def _result(user: str, error: KafkaError | None) -> AlterUserScramCredentialsResult:
    return AlterUserScramCredentialsResult(
        user=user,
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.given_message,
    )
