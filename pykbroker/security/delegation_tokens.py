"""Delegation tokens (KIP-48): by which secret one signs in for its owner, and who may ask for one.

A token's secret is kept nowhere: it is the HMAC of its id under ``delegation.token.secret.key``, so all brokers that have the key
know it, Apache Kafka's too. Whoever holds it signs in by SCRAM, with the id for a name and the HMAC in base64 for a password.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Final, Protocol

from pykbroker.security.principals import ANONYMOUS
from pykbroker.security.sasl.mechanism import Authenticated
from pykbroker.security.sasl.scram import HASHES, MIN_ITERATIONS, Found, stored_and_server_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.security.context import RequestContext

_SALT_BYTES: Final = 20


class Settings(Protocol):
    """The broker's settings, by Kafka's names."""

    def __getitem__(self, name: str, /) -> Any: ...


class Token(Protocol):
    """What the metadata has of a token."""

    owner: str
    requester: str
    renewers: list[str]
    expiration_timestamp: int
    token_id: str


def secret_of(settings: Settings) -> bytes | None:
    """The key that tokens are made with; None where there are to be no tokens."""
    key: str | None = settings["delegation.token.secret.key"]
    return key.encode() if key else None


def hmac_of(secret: bytes, token_id: str) -> bytes:
    """The secret of a token."""
    return hmac.digest(secret, token_id.encode(), "sha512")


def may_ask(ctx: RequestContext, protocols: Mapping[str, str]) -> bool:
    """Whether requests about tokens are answered: to those who are known by name, and not by a token. ``protocols`` are those
    of the listeners.
    """
    if ctx.connection is not None and ctx.connection.by_token:
        return False
    protocol = protocols.get(ctx.listener, "PLAINTEXT")
    return protocol != "PLAINTEXT" and not (protocol == "SSL" and ctx.principal == ANONYMOUS)


def concerns(token: Token, principal: str) -> bool:
    """Whether somebody owns a token, asked for it, or may renew it."""
    return principal in (token.owner, token.requester, *token.renewers)


@dataclass(slots=True)
class _Credential:
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class TokenSecrets:
    """The secrets of the tokens of a cluster. What SCRAM needs of one is made when it first signs in, and remembered."""

    def __init__(self, secret: bytes, tokens: Mapping[str, Token], rng: Random) -> None:
        """``tokens`` are those that there are, by id, and change."""
        self._secret = secret
        self._tokens = tokens
        self._rng = rng
        self._credentials: dict[tuple[str, int], _Credential] = {}

    def hmac(self, token_id: str) -> bytes:
        return hmac_of(self._secret, token_id)

    def find(self, token_id: str, mechanism: int) -> Found | None:
        """Who signs in by a token with a mechanism of SCRAM, and what proves it."""
        token = self._tokens.get(token_id)
        if token is None:
            return None
        name = token.owner.partition(":")[2]
        identity = Authenticated(name, token.expiration_timestamp, by_token=True)
        return Found(self._credential(token_id, mechanism), identity)

    def follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """A subscriber of the metadata: what is gone is forgotten."""
        del image
        for token_id, is_there in delta.delegation_tokens:
            if not is_there:
                for mechanism in HASHES:
                    self._credentials.pop((token_id, mechanism), None)

    def _credential(self, token_id: str, mechanism: int) -> _Credential:
        known = self._credentials.get((token_id, mechanism))
        if known is None:
            known = self._credentials[token_id, mechanism] = self._made(token_id, HASHES[mechanism])
        return known

    def _made(self, token_id: str, algorithm: str) -> _Credential:
        salt = self._rng.randbytes(_SALT_BYTES)
        password = base64.b64encode(self.hmac(token_id))
        salted = hashlib.pbkdf2_hmac(algorithm, password, salt, MIN_ITERATIONS)
        return _Credential(salt, *stored_and_server_key(salted, algorithm), MIN_ITERATIONS)
