"""Accepts connections on listeners with security: TLS below the connection, SASL before its requests, a time limit for both.

Imported only with such a listener. Its settings may be replaced at run time (``Admission.settings``), for new connections.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.requests.authentication import Answering, Authenticating, Authentication, AuthenticationResult
from pykbroker.requests.sessions import AuthenticatedSession
from pykbroker.security.distinguished_names import subject_name
from pykbroker.security.principals import MappingRules, user
from pykbroker.security.sasl.conversation import Former

if TYPE_CHECKING:
    import ssl

    from pykbroker.network.connection import Connection
    from pykbroker.network.tls import Handshakes
    from pykbroker.requests.dispatcher import Dispatcher
    from pykbroker.runtime.runtime import Runtime

#: The time to authenticate. Kafka has no such limit but connections.max.idle.ms, ten minutes by default.
TIME_TO_AUTHENTICATE_MS = 60_000


class ListenerSecurity(NamedTuple):
    """The security of a listener."""

    tls: ssl.SSLContext | None
    #: ssl.principal.mapping.rules, if the client's certificate names its principal.
    mapping: MappingRules | None
    sasl: Authenticating | None


class HandshakeQueue:
    """The queue of TLS handshakes that all listeners of the process share, so that its time limit holds for all together."""

    def __init__(self) -> None:
        self._handshakes: Handshakes | None = None

    def handshakes(self, runtime: Runtime) -> Handshakes:
        """The queue for ``runtime``, created by the first call."""
        from pykbroker.network.tls import Handshakes

        if self._handshakes is None or self._handshakes.runtime is not runtime:  # brokers for tests may be reset
            self._handshakes = Handshakes(runtime)
        return self._handshakes


class Admission:
    """The admission of one listener of one broker."""

    def __init__(self, settings: ListenerSecurity, max_frame: int, turns: HandshakeQueue) -> None:
        self.settings = settings
        self._max_frame = max_frame
        self._turns = turns

    def admit(self, connection: Connection, dispatcher: Dispatcher, block: memoryview) -> asyncio.BaseProtocol:
        """Begin authentication and its time limit; returns the protocol for the connection's socket."""
        settings = self.settings
        runtime = connection.broker.runtime
        connection.authentication_timer = runtime.timers.after(
            TIME_TO_AUTHENTICATE_MS,
            partial(connection.close, f"it did not authenticate within {TIME_TO_AUTHENTICATE_MS // 1000} s"),
        )
        if settings.sasl is not None:
            _Authentications(connection, settings.sasl, dispatcher, self._max_frame).begin(None)
        if settings.tls is None:
            return connection
        from pykbroker.network.tls import TlsLayer

        opened = partial(_opened, connection, settings)
        return TlsLayer(connection, settings.tls, block, self._turns.handshakes(runtime), opened)


def _opened(connection: Connection, settings: ListenerSecurity, tls: ssl.SSLObject) -> None:
    if settings.sasl is not None:
        return
    certificate = tls.getpeercert()
    if certificate and settings.mapping is not None:
        connection.principal = user(settings.mapping.name(subject_name(certificate, tls.getpeercert(binary_form=True))))
    connection.authenticated()


class _Authentications:
    """The authentications of one connection: the first, and those that extend its session (KIP-368)."""

    def __init__(
        self, connection: Connection, settings: Authenticating, dispatcher: Dispatcher, max_frame: int
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._dispatcher = dispatcher
        self._max_frame = max_frame
        self._runtime: Runtime = connection.broker.runtime

    def begin(self, former: Former | None, begun: float | None = None) -> Answering:
        authentication = Authentication(
            self._settings, self._runtime, self._dispatcher, partial(self._authenticated, begun), former
        )
        self._connection.answer_by(
            authentication.answer, self._settings.max_receive_size, "sasl.server.max.receive.size"
        )
        return authentication.answer

    def _authenticated(self, begun: float | None, outcome: AuthenticationResult) -> Answering:
        connection = self._connection
        connection.principal = user(outcome.identity.name)
        connection.by_token = outcome.identity.by_token
        connection.authenticated()
        answer: Answering = self._dispatcher.answer
        if outcome.lifetime_ms is not None:
            former = Former(connection.principal, outcome.mechanism)
            answer = AuthenticatedSession(
                self._dispatcher,
                self._runtime.clock,
                outcome.lifetime_ms,
                begun,
                partial(self.begin, former),
            ).answer
        connection.answer_by(answer, self._max_frame)
        return answer
