"""GSSAPI (RFC 4752), the client's side: a ticket for the broker's service, and its word that nothing is asked of the broker behind it."""

from __future__ import annotations

from typing import Final, Protocol

from pykbroker.security.client.login import LoginFailed

#: Protection of what follows: none, so that there is no size of messages either.
_NO_LAYER: Final = 1
_CHOICE: Final = bytes((_NO_LAYER, 0, 0, 0))


class Initiating(Protocol):
    """A security context of GSS-API on the side of the client. All raise LoginFailed."""

    #: Whether both have proved who they are.
    established: bool

    def step(self, token: bytes | None, /) -> bytes | None:
        """What is said to the broker's token (None: at first), if anything."""
        ...

    def wrap(self, message: bytes, /) -> bytes:
        """Signed, not encrypted."""
        ...

    def unwrap(self, message: bytes, /) -> bytes:
        """What the broker has wrapped."""
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
            raise LoginFailed("the broker asks for a security layer of SASL, which is not spoken here")
        self._agreed = True
        return self._context.wrap(_CHOICE)
