"""GSSAPI (RFC 4752): a client authenticates by a Kerberos ticket, in an exchange that GSS-API defines.

RFC 4752 then adds a round: the broker offers no security layer (TLS has that task), the client accepts and may name an
authorization id, which Kafka ignores. The ticket's lifetime does not limit the session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from pykbroker.security.kerberos.names import NoUser
from pykbroker.security.sasl.mechanism import Authenticated, CredentialsRefused

#: The bit for no security layer.
_NO_LAYER: Final = 1
#: The offered layers, and the largest message size that Java announces.
_OFFER: Final = bytes((_NO_LAYER, 0x01, 0x00, 0x00))


class Accepting(Protocol):
    """A service's security context of GSS-API. All methods raise Refused."""

    #: The client's Kerberos name; None until it is authenticated.
    initiator: str | None

    def accept(self, token: bytes, /) -> bytes | None:
        """The answer to a token of the client, if any."""
        ...

    def wrap(self, message: bytes, /) -> bytes:
        """The message, signed but not encrypted."""
        ...

    def unwrap(self, message: bytes, /) -> bytes:
        """The message that the client wrapped."""
        ...


class GssapiExchange:
    """See the module. ``begin`` creates a security context; ``user`` maps a Kerberos name to a user and raises NoUser."""

    def __init__(self, begin: Callable[[], Accepting], user: Callable[[str], str]) -> None:
        self._context = begin()
        self._user = user
        self._step: Callable[[bytes], bytes | None] = self._establish
        self.result: Authenticated | None = None

    def evaluate(self, token: bytes) -> bytes | None:
        return self._step(token)

    def _establish(self, token: bytes) -> bytes | None:
        answer = self._context.accept(token)
        if self._context.initiator is None:
            return answer
        self._step = self._offer
        return self._offer(b"") if answer is None else answer

    def _offer(self, token: bytes) -> bytes:
        if token:
            raise CredentialsRefused("the client sent a token where an empty one is due")
        self._step = self._agree
        return self._context.wrap(_OFFER)

    def _agree(self, token: bytes) -> None:
        chosen = self._context.unwrap(token)
        if len(chosen) < len(_OFFER) or not chosen[0] & _NO_LAYER:
            raise CredentialsRefused(
                "the client requires a SASL security layer, which is not supported: use SASL_SSL for confidentiality"
            )
        name = self._context.initiator
        assert name is not None, "the context is established"
        try:
            self.result = Authenticated(self._user(name))
        except NoUser as error:
            raise CredentialsRefused(str(error)) from error
