"""Delegation tokens of others; what is refused of one's own, ``compat_tests/security`` asks."""

from __future__ import annotations

from typing import Any

from compat_tests.authorization.cases import case
from compat_tests.authorization.signing import SignedAsk
from compat_tests.harness.awaiting import eventually
from pykbroker.security.operations import ALTER, CREATE_TOKENS, DESCRIBE, DESCRIBE_TOKENS
from pykbroker.security.resources import USER
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from pykbroker.wire.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)


@case(ApiKey.CREATE_DELEGATION_TOKEN, (USER, "o", CREATE_TOKENS), (USER, "o", DESCRIBE_TOKENS), versions=(3,))
def tokens_are_made_for_others(ask: SignedAsk) -> None:
    for owner in ("o", "p"):
        for kind in ("User", "Group"):
            renewers = [CreatableRenewers(kind, "somebody")]
            answer = ask.quietly_as_user(CreateDelegationTokenRequest("User", ask.name(owner), renewers, -1))
            ask.keep(
                [answer.error_code, answer.principal_name, answer.token_requester_principal_name, len(answer.hmac)]
            )
    answer = ask.quietly_as_user(CreateDelegationTokenRequest("User", ask.user, [], -1))
    ask.keep([answer.error_code, answer.principal_name])


@case(ApiKey.DESCRIBE_DELEGATION_TOKEN, (USER, "o", DESCRIBE_TOKENS), (USER, "p", DESCRIBE), (USER, "p", ALTER))
def tokens_of_others_are_described(ask: SignedAsk) -> None:
    owners = [ask.name(owner) for owner in ("o", "p", "q")]
    for owner in owners:
        renewers = [CreatableRenewers("User", ask.user)] if owner == owners[-1] else []
        assert ask.quietly(CreateDelegationTokenRequest("User", owner, renewers, -1), 3).error_code == 0
    named = DescribeDelegationTokenRequest([DescribeDelegationTokenOwner("User", owner) for owner in owners])
    eventually(lambda: ask.quietly(named, 3), lambda answer: len(answer.tokens) == len(owners), pause_s=0.01)
    for request in (named, DescribeDelegationTokenRequest(None)):
        ask.keep(sorted(_owners(ask, ask.quietly_as_user(request))))


def _owners(ask: SignedAsk, answer: Any) -> list[str]:
    assert answer.error_code == 0
    return [token.principal_name for token in answer.tokens if token.principal_name.startswith(ask.prefix)]
