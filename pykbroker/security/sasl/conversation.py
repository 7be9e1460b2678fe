"""The way of a connection before it is anybody: ApiVersions once, SaslHandshake, tokens until the mechanism is content.

A pure state machine: it is told which request came and says what may be answered, or that it is over. States and refusals
are those of Kafka's SaslServerAuthenticator (KIP-43, KIP-152, KIP-368).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from pykbroker.security.sasl.mechanism import Authenticated, Exchange, Mechanism, Refused


class State(Enum):
    """What may come next."""

    VERSIONS_OR_HANDSHAKE = 0
    HANDSHAKE = 1
    TOKEN = 2  # in a SaslAuthenticate
    RAW_TOKEN = 3  # without any header: the handshake was in version 0
    OVER = 4


class Failed(Exception):
    """The connection is to end, and not at once. The text is for the log; ``told`` is for the client, in an answer of the API
    that it asked, and None where that is nothing.
    """

    def __init__(self, reason: str, told: str | None = None) -> None:
        super().__init__(reason)
        self.told = told


class UnknownMechanism(Failed):
    """One that the listener does not have."""


class Unexpected(Failed):
    """A request that has no place here."""


class Former(NamedTuple):
    """Who the connection was before it authenticates anew, and how he had proved it (KIP-368)."""

    principal: str
    mechanism: str


class Conversation:
    """See the module. ``mechanisms`` are those of the listener, by name."""

    def __init__(self, mechanisms: Mapping[str, Mechanism], former: Former | None = None) -> None:
        self._mechanisms = mechanisms
        self._former = former
        self._exchange: Exchange | None = None
        self.state = State.VERSIONS_OR_HANDSHAKE if former is None else State.HANDSHAKE
        self.mechanism = ""

    @property
    def mechanisms(self) -> list[str]:
        """The names that a handshake is answered with."""
        return list(self._mechanisms)

    @property
    def result(self) -> Authenticated | None:
        """Who it is, once that is known."""
        return None if self._exchange is None or self.state is not State.OVER else self._exchange.result

    def versions(self, *, good: bool) -> None:
        """ApiVersions came; a ``good`` one may come once. Raises Unexpected."""
        if self.state is not State.VERSIONS_OR_HANDSHAKE:
            raise Unexpected("it sent ApiVersions where it had to authenticate")
        if good:
            self.state = State.HANDSHAKE

    def handshake(self, version: int, mechanism: str) -> None:
        """SaslHandshake came. Raises Failed."""
        if self.state not in (State.VERSIONS_OR_HANDSHAKE, State.HANDSHAKE):
            raise Unexpected("it sent SaslHandshake where a token of its mechanism was to come")
        begin = self._mechanisms.get(mechanism)
        if begin is None:
            reason = (
                f"it asked for the SASL mechanism {mechanism!r}, and this listener has {', '.join(self._mechanisms)}"
            )
            raise UnknownMechanism(reason) if self._former is None else Unexpected(reason)
        if self._former is not None and mechanism != self._former.mechanism:
            self._exchange = _OtherMechanism(mechanism, self._former.mechanism)
        else:
            self._exchange = begin()
        self.mechanism = mechanism
        self.state = State.TOKEN if version >= 1 else State.RAW_TOKEN

    def token(self, token: bytes) -> bytes | None:
        """The mechanism's answer to a token, if it has one; then ``result`` may be there. Raises Failed."""
        assert self._exchange is not None, "a handshake came before"
        try:
            answer = self._exchange.evaluate(token)
            if (result := self._exchange.result) is not None:
                self._check_unchanged(result)
                self.state = State.OVER
            return answer
        except Refused as refusal:
            raise Failed(f"it failed to authenticate by {self.mechanism}: {refusal}", self._told(refusal)) from refusal

    def _told(self, refusal: Refused) -> str:
        what = "authentication" if self._former is None else "re-authentication"
        return refusal.told or (
            f"Authentication failed during {what} due to invalid credentials with SASL mechanism {self.mechanism}"
        )

    def _check_unchanged(self, result: Authenticated) -> None:
        if self._former is not None and self._former.principal != f"User:{result.name}":
            kind, _, name = self._former.principal.partition(":")
            message = f"Cannot change principals during re-authentication from {kind}.{name}: User.{result.name}"
            raise Refused(message, told=message)


class _OtherMechanism:
    """In place of an exchange: who authenticates anew may not do so by another mechanism. He hears nothing of it."""

    def __init__(self, asked: str, former: str) -> None:
        self.result: Authenticated | None = None
        self._why = f"SASL mechanism '{asked}' requested by client is not supported for re-authentication of mechanism '{former}'"

    def evaluate(self, token: bytes) -> bytes:
        raise Failed(self._why)
