"""Takes the place of the dispatcher for an authenticated session of limited lifetime, which ends with the credential or
connections.max.reauth.ms unless the client re-authenticates (KIP-368).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pykbroker.handlers.contract import CloseConnection
from pykbroker.wire.apis import ApiKey

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.requests.authentication import Answering
    from pykbroker.requests.dispatcher import Dispatcher
    from pykbroker.runtime.clock import Clock
    from pykbroker.security.context import Peer

#: Re-authentication within this time is refused: the client is authenticated already.
_BETWEEN_NS = 1_000_000_000
_HANDSHAKE = int(ApiKey.SASL_HANDSHAKE).to_bytes(2, "big")


class AuthenticatedSession:
    """From one authentication to the next. ``begin_again`` makes what takes the frames of the next one; ``begun`` is the time
    at which the current one began, if it was not the first.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        clock: Clock,
        lifetime_ms: int,
        begun: float | None,
        begin_again: Callable[[float], Answering],
    ) -> None:
        self._dispatcher = dispatcher
        self._clock = clock
        self._ends_ns = _nanoseconds(clock.monotonic()) + lifetime_ms * 1_000_000
        self._begun = begun
        self._reauthenticate = begin_again
        self._next: Answering | None = None

    def answer(self, broker: Broker, peer: Peer, frame: memoryview) -> Any:
        """As ``Dispatcher.answer``."""
        if self._next is not None:
            return self._next(broker, peer, frame)
        now = self._clock.monotonic()
        now_ns = _nanoseconds(now)
        if frame[:2] == _HANDSHAKE and (self._begun is None or now_ns - _nanoseconds(self._begun) >= _BETWEEN_NS):
            self._next = self._reauthenticate(now)
            return self._next(broker, peer, frame)
        if now_ns > self._ends_ns:
            raise CloseConnection("its session is over, and it did not authenticate again")
        return self._dispatcher.answer(broker, peer, frame)


def _nanoseconds(seconds: float) -> int:
    """Whole nanoseconds, as Kafka counts, so that differences are exact: with a manual clock, tests ask at the very limits."""
    return round(seconds * 1e9)
