"""Delegation tokens (KIP-48): their secrets, and who may request them.

A token's secret is not stored: it is the HMAC of its id with ``delegation.token.secret.key``, so every broker with the key can
compute it, Apache Kafka's too. Clients authenticate by SCRAM with the id as user name and the HMAC in base64 as password.
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
from pykbroker.security.sasl.scram import HASHES, MIN_ITERATIONS, FoundCredential, stored_and_server_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.security.context import RequestContext

_SALT_BYTES: Final = 20


class DelegationTokenSettings(Protocol):
    """The broker's settings, by Kafka's names."""

    def __getitem__(self, name: str, /) -> Any: ...


class Token(Protocol):
    """A token in the metadata."""

    owner: str
    requester: str
    renewers: list[str]
    expiration_timestamp: int
    token_id: str


def secret_of(settings: DelegationTokenSettings) -> bytes | None:
    """delegation.token.secret.key; None if delegation tokens are disabled."""
    key: str | None = settings["delegation.token.secret.key"]
    return key.encode() if key else None


def hmac_of(secret: bytes, token_id: str) -> bytes:
    """The HMAC of a token: its secret."""
    return hmac.digest(secret, token_id.encode(), "sha512")


def may_ask(ctx: RequestContext, protocols: Mapping[str, str]) -> bool:
    """Whether a client may send requests about tokens: it must be authenticated, and not by a token. ``protocols`` are the
    security protocols of the listeners, by name.
    """
    if ctx.connection is not None and ctx.connection.by_token:
        return False
    protocol = protocols.get(ctx.listener, "PLAINTEXT")
    return protocol != "PLAINTEXT" and not (protocol == "SSL" and ctx.principal == ANONYMOUS)


def concerns(token: Token, principal: str) -> bool:
    """Whether the principal is the token's owner, requester or one of its renewers."""
    return principal in (token.owner, token.requester, *token.renewers)


@dataclass(slots=True)
class _Credential:
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class TokenSecrets:
    """The secrets of a cluster's tokens. A token's SCRAM credential is computed at its first use, and cached."""

    def __init__(self, secret: bytes, tokens: Mapping[str, Token], rng: Random) -> None:
        """``tokens`` are the present tokens by id; the mapping changes with the metadata."""
        self._secret = secret
        self._tokens = tokens
        self._rng = rng
        self._credentials: dict[tuple[str, int], _Credential] = {}

    def hmac(self, token_id: str) -> bytes:
        return hmac_of(self._secret, token_id)

    def find(self, token_id: str, mechanism: int) -> FoundCredential | None:
        """The owner of a token and its credential for a SCRAM mechanism (1 or 2); None if there is no such token."""
        token = self._tokens.get(token_id)
        if token is None:
            return None
        name = token.owner.partition(":")[2]
        identity = Authenticated(name, token.expiration_timestamp, by_token=True)
        return FoundCredential(self._credential(token_id, mechanism), identity)

    def follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Drop the credentials of deleted tokens; a metadata subscriber."""
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
