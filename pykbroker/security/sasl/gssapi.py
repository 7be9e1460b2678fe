"""GSSAPI (RFC 4752): a ticket of Kerberos says who somebody is, in an exchange that GSS-API leads.

Behind it stands what RFC 4752 adds: the broker says that it protects nothing of what follows (that is for TLS), the client agrees
and may name somebody in whose name he comes, of which Kafka takes no notice. How long a ticket is good does not end a session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from pykbroker.security.kerberos.names import NoUser
from pykbroker.security.sasl.mechanism import Authenticated, Refused

#: Protection of what follows: none.
_NO_LAYER: Final = 1
#: What is offered, with the size of the largest message that Java would take.
_OFFER: Final = bytes((_NO_LAYER, 0x01, 0x00, 0x00))


class Accepting(Protocol):
    """A security context of GSS-API on the side of the service. All raise Refused."""

    #: The name of who has proved who he is; None until then.
    initiator: str | None

    def accept(self, token: bytes, /) -> bytes | None:
        """What is said to the client's token, if anything."""
        ...

    def wrap(self, message: bytes, /) -> bytes:
        """Signed, not encrypted."""
        ...

    def unwrap(self, message: bytes, /) -> bytes:
        """What the client has wrapped."""
        ...


class GssapiExchange:
    """See the module. ``user`` is who a name of Kerberos is here, and raises NoUser."""

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
            raise Refused("the client says something where it has nothing more to say")
        self._step = self._agree
        return self._context.wrap(_OFFER)

    def _agree(self, token: bytes) -> None:
        chosen = self._context.unwrap(token)
        if len(chosen) < len(_OFFER) or not chosen[0] & _NO_LAYER:
            raise Refused(
                "the client wants a security layer of SASL, and there is none: confidentiality is for SASL_SSL"
            )
        name = self._context.initiator
        assert name is not None, "the context is established"
        try:
            self.result = Authenticated(self._user(name))
        except NoUser as error:
            raise Refused(str(error)) from error
