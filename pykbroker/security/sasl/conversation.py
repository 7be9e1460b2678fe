"""The order of requests before a connection is authenticated: ApiVersions once, SaslHandshake, then the mechanism's tokens.

A pure state machine of the requests that arrive. States and errors are those of Kafka's SaslServerAuthenticator (KIP-43,
KIP-152, KIP-368).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from pykbroker.security.sasl.mechanism import Authenticated, CredentialsRefused, Exchange, Mechanism


class State(Enum):
    """What the client may send next."""

    VERSIONS_OR_HANDSHAKE = 0
    HANDSHAKE = 1
    TOKEN = 2  # in SaslAuthenticate
    RAW_TOKEN = 3  # without a request header, after SaslHandshake version 0
    OVER = 4


class AuthenticationFailed(Exception):
    """Authentication has failed: the connection is closed after a delay. The text is for the log; ``client_message`` is for the client, in
    the response to its request, or None for no response.
    """

    def __init__(self, reason: str, client_message: str | None = None) -> None:
        super().__init__(reason)
        self.client_message = client_message


class UnknownMechanism(AuthenticationFailed):
    """The listener does not have the mechanism."""


class Unexpected(AuthenticationFailed):
    """The request is not allowed in this state."""


class Former(NamedTuple):
    """The principal and mechanism of a connection before its re-authentication (KIP-368)."""

    principal: str
    mechanism: str


class Conversation:
    """See the module. ``mechanisms`` are the listener's, by name; ``former`` is given for a re-authentication."""

    def __init__(self, mechanisms: Mapping[str, Mechanism], former: Former | None = None) -> None:
        self._mechanisms = mechanisms
        self._former = former
        self._exchange: Exchange | None = None
        self.state = State.VERSIONS_OR_HANDSHAKE if former is None else State.HANDSHAKE
        self.mechanism = ""

    @property
    def mechanisms(self) -> list[str]:
        """The mechanisms in the response to a handshake."""
        return list(self._mechanisms)

    @property
    def result(self) -> Authenticated | None:
        """The identity, once the client is authenticated."""
        return None if self._exchange is None or self.state is not State.OVER else self._exchange.result

    def versions(self, *, good: bool) -> None:
        """Take an ApiVersions request; one of a supported version (``good``) may come once. Raises Unexpected."""
        if self.state is not State.VERSIONS_OR_HANDSHAKE:
            raise Unexpected("it sent ApiVersions instead of authenticating")
        if good:
            self.state = State.HANDSHAKE

    def handshake(self, version: int, mechanism: str) -> None:
        """Take a SaslHandshake request. Raises AuthenticationFailed."""
        if self.state not in (State.VERSIONS_OR_HANDSHAKE, State.HANDSHAKE):
            raise Unexpected("it sent SaslHandshake instead of a token of its mechanism")
        begin = self._mechanisms.get(mechanism)
        if begin is None:
            reason = (
                f"it requested the SASL mechanism {mechanism!r}, but this listener has {', '.join(self._mechanisms)}"
            )
            raise UnknownMechanism(reason) if self._former is None else Unexpected(reason)
        if self._former is not None and mechanism != self._former.mechanism:
            self._exchange = _OtherMechanism(mechanism, self._former.mechanism)
        else:
            self._exchange = begin()
        self.mechanism = mechanism
        self.state = State.TOKEN if version >= 1 else State.RAW_TOKEN

    def token(self, token: bytes) -> bytes | None:
        """Take a token; returns the mechanism's answer, if any. Sets ``result`` after the last one. Raises AuthenticationFailed."""
        assert self._exchange is not None, "a handshake came before"
        try:
            answer = self._exchange.evaluate(token)
            if (result := self._exchange.result) is not None:
                self._check_unchanged(result)
                self.state = State.OVER
            return answer
        except CredentialsRefused as refusal:
            raise AuthenticationFailed(
                f"it failed to authenticate by {self.mechanism}: {refusal}", self._client_message(refusal)
            ) from refusal

    def _client_message(self, refusal: CredentialsRefused) -> str:
        what = "authentication" if self._former is None else "re-authentication"
        return refusal.client_message or (
            f"Authentication failed during {what} due to invalid credentials with SASL mechanism {self.mechanism}"
        )

    def _check_unchanged(self, result: Authenticated) -> None:
        if self._former is not None and self._former.principal != f"User:{result.name}":
            kind, _, name = self._former.principal.partition(":")
            message = f"Cannot change principals during re-authentication from {kind}.{name}: User.{result.name}"
            raise CredentialsRefused(message, client_message=message)


class _OtherMechanism:
    """Takes the place of an exchange if a re-authentication uses another mechanism: fails, without an answer to the client."""

    def __init__(self, requested: str, former: str) -> None:
        self.result: Authenticated | None = None
        self._why = f"SASL mechanism '{requested}' requested by client is not supported for re-authentication of mechanism '{former}'"

    def evaluate(self, token: bytes) -> bytes:
        raise AuthenticationFailed(self._why)
