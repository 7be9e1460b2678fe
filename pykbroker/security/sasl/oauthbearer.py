"""OAUTHBEARER (RFC 7628): a client authenticates by a token, which a validator checks, for the token's lifetime.

A refused token is answered with the reason in JSON; the exchange fails when the client has acknowledged it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from pykbroker.security.sasl.mechanism import Authenticated, CredentialsRefused, refused_aloud

_ACKNOWLEDGED: Final = b"\x01"
#: Possessive quantifiers prevent backtracking, as in scram.py.
_SASL_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]++|=2C|=3D)++"
_PAIRS: Final = r"(?:[A-Za-z]++=[\x21-\x7E \t\r\n]++\x01)*+"
_FIRST: Final = re.compile(rf"n,(?:a=(?P<authzid>{_SASL_NAME}))?,\x01(?P<pairs>{_PAIRS})\x01")
_AUTH: Final = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)", re.ASCII)
_MALFORMED: Final = "Invalid OAUTHBEARER client first message"


class TokenRefused(Exception):
    """The token is not valid. The text is for the log; the client is answered ``status`` and ``scope`` (RFC 7628)."""

    def __init__(self, reason: str, status: str = "invalid_token", scope: str | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.scope = scope

    @property
    def client_message(self) -> str:
        """The answer to the client in JSON, spaced as Kafka's."""
        scope = "" if self.scope is None else f', "scope":"{self.scope}"'
        return f'{{"status":"{self.status}"{scope}}}'


#: Checks a token; returns its identity. Raises TokenRefused.
Validate = Callable[[str], Authenticated]


class OAuthBearerExchange:
    """See the module. The exchange is one message, unless the token is refused."""

    def __init__(self, validate: Validate) -> None:
        self._validate = validate
        self._refusal: TokenRefused | None = None
        self.result: Authenticated | None = None

    def evaluate(self, token: bytes) -> bytes:
        if token == _ACKNOWLEDGED and self._refusal is not None:
            raise CredentialsRefused(str(self._refusal), client_message=self._refusal.client_message)
        self._refusal = None
        said = _FIRST.fullmatch(token.decode("utf-8", "replace"))
        if said is None:
            raise CredentialsRefused(_MALFORMED)
        try:
            identity = self._validate(_bearer(said["pairs"]))
        except TokenRefused as refusal:
            self._refusal = refusal
            return refusal.client_message.encode()
        if said["authzid"] not in (None, identity.name):
            raise refused_aloud(
                f"Authentication failed: Client requested an authorization id ({said['authzid']}) that is different from the "
                f"token's principal name ({identity.name})"
            )
        self.result = identity
        return b""


def _bearer(pairs: str) -> str:
    auth = dict(pair.split("=", 1) for pair in pairs.split("\x01") if pair).get("auth")
    if auth is None:
        raise CredentialsRefused(f"{_MALFORMED}: 'auth' not specified")
    said = _AUTH.fullmatch(auth)
    if said is None:
        raise CredentialsRefused(f"{_MALFORMED}: invalid 'auth' format")
    if said["scheme"].lower() != "bearer":
        raise CredentialsRefused(f"{_MALFORMED}: its scheme is {said['scheme']}, but only Bearer is supported")
    return said["token"]
