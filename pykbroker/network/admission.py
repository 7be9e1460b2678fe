"""How a listener with security takes a connection: TLS below it, SASL before its first request, and a limit on the time for both.

Imported only where a listener asks for it. What it asks for is replaced while it runs (``settings``); connections that are open
keep what they came in by.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.requests.authentication import Answering, Authenticating, Authentication, Outcome
from pykbroker.requests.sessions import Session
from pykbroker.security.distinguished_names import subject_name
from pykbroker.security.principals import MappingRules, user
from pykbroker.security.sasl.conversation import Former

if TYPE_CHECKING:
    import ssl

    from pykbroker.network.connection import Connection
    from pykbroker.network.tls import Handshakes
    from pykbroker.requests.dispatcher import Dispatcher
    from pykbroker.runtime.runtime import Runtime

#: How long somebody may take to say who he is. Kafka gives him ``connections.max.idle.ms``, which is ten minutes.
TIME_TO_AUTHENTICATE_MS = 60_000


class ListenerSecurity(NamedTuple):
    """What a listener asks of those who connect."""

    tls: ssl.SSLContext | None
    #: Makes names of certificates' subjects, where these say who somebody is.
    mapping: MappingRules | None
    sasl: Authenticating | None


class Turns:
    """Handshakes of all listeners of the process take turns with each other, so that all of them stop nobody."""

    def __init__(self) -> None:
        self._handshakes: Handshakes | None = None

    def handshakes(self, runtime: Runtime) -> Handshakes:
        """The TLS handshakes of a listener, which take turns with everything else on the loop."""
        from pykbroker.network.tls import Handshakes  # noqa: PLC0415 - SASL_PLAINTEXT does without

        if self._handshakes is None or self._handshakes.runtime is not runtime:  # a test's brokers may begin anew
            self._handshakes = Handshakes(runtime)
        return self._handshakes


class Admission:
    """One listener's of one broker."""

    def __init__(self, settings: ListenerSecurity, max_frame: int, turns: Turns) -> None:
        self.settings = settings
        self._max_frame = max_frame
        self._turns = turns

    def admit(self, connection: Connection, dispatcher: Dispatcher, block: memoryview) -> asyncio.BaseProtocol:
        """The protocol for the connection's socket."""
        settings = self.settings
        runtime = connection.broker.cluster.runtime
        connection.stranger = runtime.timers.after(
            TIME_TO_AUTHENTICATE_MS,
            partial(connection.close, f"it did not say who it is within {TIME_TO_AUTHENTICATE_MS // 1000} s"),
        )
        if settings.sasl is not None:
            _Signing(connection, settings.sasl, dispatcher, self._max_frame).begin(None)
        if settings.tls is None:
            return connection
        from pykbroker.network.tls import TlsLayer  # noqa: PLC0415 - SASL_PLAINTEXT does without

        opened = partial(_opened, connection, settings)
        return TlsLayer(connection, settings.tls, block, self._turns.handshakes(runtime), opened)


def _opened(connection: Connection, settings: ListenerSecurity, tls: ssl.SSLObject) -> None:
    if settings.sasl is not None:
        return
    certificate = tls.getpeercert()
    if certificate and settings.mapping is not None:
        connection.principal = user(settings.mapping.name(subject_name(certificate, tls.getpeercert(binary_form=True))))
    connection.known()


class _Signing:
    """A connection's way from one authentication to the next."""

    def __init__(
        self, connection: Connection, settings: Authenticating, dispatcher: Dispatcher, max_frame: int
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._dispatcher = dispatcher
        self._max_frame = max_frame
        self._runtime: Runtime = connection.broker.cluster.runtime

    def begin(self, former: Former | None, begun: float | None = None) -> Answering:
        authentication = Authentication(
            self._settings, self._runtime, self._dispatcher, partial(self._signed_in, begun), former
        )
        self._connection.answer_by(authentication.answer, self._settings.max_receive_size)
        return authentication.answer

    def _signed_in(self, begun: float | None, outcome: Outcome) -> Answering:
        connection = self._connection
        connection.principal = user(outcome.identity.name)
        connection.by_token = outcome.identity.by_token
        connection.known()
        answer: Answering = self._dispatcher.answer
        if outcome.lifetime_ms is not None:
            former = Former(connection.principal, outcome.mechanism)
            answer = Session(
                self._dispatcher,
                self._runtime.clock,
                outcome.lifetime_ms,
                begun,
                partial(self.begin, former),
            ).answer
        connection.answer_by(answer, self._max_frame)
        return answer
