"""GSSAPI (RFC 4752), the client's side: authenticates by a Kerberos ticket, and chooses no security layer."""

from __future__ import annotations

from typing import Final, Protocol

from pykbroker.security.client.login import LoginFailed

#: The bit for no security layer.
_NO_LAYER: Final = 1
#: The chosen layer and, since it is none, a maximum message size of 0.
_CHOICE: Final = bytes((_NO_LAYER, 0, 0, 0))


class Initiating(Protocol):
    """A client's security context of GSS-API. All methods raise LoginFailed."""

    #: Whether both sides are authenticated.
    established: bool

    def step(self, token: bytes | None, /) -> bytes | None:
        """The answer to a token of the broker (None at first), if any."""
        ...

    def wrap(self, message: bytes, /) -> bytes:
        """The message, signed but not encrypted."""
        ...

    def unwrap(self, message: bytes, /) -> bytes:
        """The message that the broker wrapped."""
        ...


class GssapiLogin:
    """See the module."""

    def __init__(self, context: Initiating) -> None:
        self._context = context
        self._agreed = False

    def first(self) -> bytes:
        return self._context.step(None) or b""

    def answer(self, challenge: bytes) -> bytes | None:
        if self._agreed:
            return None
        if not self._context.established:
            return self._context.step(challenge) or b""
        offer = self._context.unwrap(challenge)
        if not offer or not offer[0] & _NO_LAYER:
            raise LoginFailed("the broker requires a SASL security layer, which is not supported")
        self._agreed = True
        return self._context.wrap(_CHOICE)
