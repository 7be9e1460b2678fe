"""Delegation tokens that live on through all turns: whoever made them, they are good with whoever serves."""

from __future__ import annotations

import base64
from contextlib import closing
from typing import Any, NamedTuple

from compat_tests.directories.client import Client
from compat_tests.directories.log_directories import TOKEN_KEY, USER, SharedLogDirectories
from compat_tests.oracle.connection import Connection
from compat_tests.security.scram_client import HASHES, ScramClient
from pykbroker.security.delegation_tokens import hmac_of
from pykbroker.wire.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest
from pykbroker.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from pykbroker.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from pykbroker.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest

_HOUR_MS = 3_600_000
_NOT_FOUND = 62


class Known(NamedTuple):
    """What is told of a token."""

    made: int
    expires: int
    ends: int
    owner: str
    requester: str
    renewers: tuple[str, ...]


class Tokens:
    """The tokens that one user asked for. Each turn uses and renews all that there are, ends the oldest and makes one more."""

    def __init__(self, directories: SharedLogDirectories) -> None:
        self._address = directories.signed
        self._known: dict[str, Known] = {}

    def turn(self) -> None:
        with closing(_Owner(self._address)) as owner:
            owner.until_described(self._known)
            for token_id in self._known:
                for mechanism in HASHES:
                    _use(self._address, token_id, mechanism)
            self._renew(owner)
            self._end(owner)
            self._make(owner)
            owner.until_described(self._known)

    def _renew(self, owner: _Owner) -> None:
        for hours, (token_id, known) in enumerate(self._known.items(), 2):
            answer = owner.changed(RenewDelegationTokenRequest(_secret(token_id), hours * _HOUR_MS), 2)
            self._known[token_id] = known._replace(expires=answer.expiry_timestamp_ms)

    def _end(self, owner: _Owner) -> None:
        """The oldest."""
        if len(self._known) > 1:
            oldest = next(iter(self._known))
            owner.changed(ExpireDelegationTokenRequest(_secret(oldest), -1), 2)
            del self._known[oldest]

    def _make(self, owner: _Owner) -> None:
        asked = CreateDelegationTokenRequest("User", "carol", [CreatableRenewers("User", USER)], -1)
        made = owner.changed(asked, 3)
        assert made.hmac == _secret(made.token_id)
        times = made.issue_timestamp_ms, made.expiry_timestamp_ms, made.max_timestamp_ms
        self._known[made.token_id] = Known(*times, "carol", USER, (USER,))


class _Owner(Client):
    """Who has signed in by a password."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.ask(SaslHandshakeRequest("PLAIN"), 1)
        assert self.ask(SaslAuthenticateRequest(f"\0{USER}\0{USER}".encode()), 2).error_code == 0

    def changed(self, request: Any, version: int) -> Any:
        """Kafka's controller learns of tokens by and by, after a start, too."""
        answer = self.until(lambda answer: answer.error_code != _NOT_FOUND, request, version)
        assert answer.error_code == 0, answer
        return answer

    def until_described(self, known: dict[str, Known]) -> None:
        self.until(lambda answer: _described(answer) == known, DescribeDelegationTokenRequest(None), 3)


def _secret(token_id: str) -> bytes:
    return hmac_of(TOKEN_KEY.encode(), token_id)


def _described(answer: Any) -> dict[str, Known]:
    for token in answer.tokens:
        assert token.hmac == _secret(token.token_id)
    return {
        token.token_id: Known(
            *(token.issue_timestamp, token.expiry_timestamp, token.max_timestamp),
            *(token.principal_name, token.token_requester_principal_name),
            tuple(renewer.principal_name for renewer in token.renewers),
        )
        for token in answer.tokens
    }


def _use(address: str, token_id: str, mechanism: str) -> None:
    password = base64.b64encode(_secret(token_id)).decode()
    scram = ScramClient(mechanism, token_id, password, extensions=",tokenauth=true")
    with closing(Connection(address)) as connection:
        connection.ask(SaslHandshakeRequest(mechanism), 1)
        challenge = connection.ask(SaslAuthenticateRequest(scram.first()), 2)
        last = connection.ask(SaslAuthenticateRequest(scram.final(bytes(challenge.auth_bytes))), 2)
        assert last.error_code == 0, last
        assert scram.trusts(bytes(last.auth_bytes))
        assert last.session_lifetime_ms > 0
        assert connection.ask(DescribeClusterRequest(), 1).error_code == 0
