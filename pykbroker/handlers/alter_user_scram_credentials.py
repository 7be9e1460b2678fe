"""AlterUserScramCredentials (key 51, version 0): set and delete SCRAM credentials of users (KIP-554).

The client sends a salted password; the metadata log holds the two keys derived from it, never the password.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.controller.scram import Deletion, Upsertion
from pykbroker.handlers.in_slices import flat, in_slices, in_turn
from pykbroker.runtime.waits import as_wait
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext

#: Users whose credentials are altered together, and the weight of looking at one.
_AT_ONCE = 100
_WEIGHT = 0.2


def handle(
    broker: Broker, ctx: RequestContext, request: AlterUserScramCredentialsRequest
) -> Deferred[AlterUserScramCredentialsResponse]:
    return as_wait(in_slices(broker, ctx, _work(broker, ctx, request)))


def _work(
    broker: Broker, ctx: RequestContext, request: AlterUserScramCredentialsRequest
) -> Work[AlterUserScramCredentialsResponse]:
    users: dict[str, list[Deletion | Upsertion]] = {}  # of a user that is named twice no credential is altered
    for deletion in request.deletions:
        users.setdefault(deletion.name, []).append(Deletion(deletion.name, deletion.mechanism))
        yield _WEIGHT
    for asked in request.upsertions:
        upsertion = Upsertion(asked.name, asked.mechanism, asked.iterations, asked.salt, asked.salted_password)
        users.setdefault(asked.name, []).append(upsertion)
        yield _WEIGHT

    def alter(some: Sequence[list[Deletion | Upsertion]]) -> Deferred[list[AlterUserScramCredentialsResult]]:
        altered = broker.controller.alter_scram_credentials(
            [each for changes in some for each in changes if isinstance(each, Deletion)],
            [each for changes in some for each in changes if isinstance(each, Upsertion)],
        )
        return altered.map(lambda results: [_result(user, error) for user, error in results.items()])

    answered = in_turn(broker, ctx, list(users.values()), alter, _AT_ONCE)
    return answered.map(lambda results: AlterUserScramCredentialsResponse(results=flat(results)))


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
