"""The dispatcher of a test's broker: its requests are logged, and can be recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pykbroker.handlers.contract import CloseConnection
from pykbroker.handlers.table import SUPPORTED
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.requests.pipeline import Place, through

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.releases.release import Release
    from pykbroker.requests.pipeline import Step
    from pykbroker.security.context import Peer
    from pykbroker.sessions.recording import Recorder

#: Called with a frame that is malformed or not served, and the reason for which its connection is closed.
Refused = Callable[["Broker", "Peer", memoryview, CloseConnection], None]


class WatchedDispatcher(Dispatcher):
    """A dispatcher whose requests pass the request log, ``observe``; frames that do not reach it, malformed ones and those of APIs not
    served, are reported to ``refused``.
    """

    def __init__(self, observe: Step, refused: Refused, release: Release | None = None) -> None:
        table = SUPPORTED if release is None else release.table
        super().__init__(table, {Place.OBSERVE: through(observe), **({} if release is None else release.places)})
        self._refused = refused
        self._recorder: Recorder | None = None

    @property
    def is_recording(self) -> bool:
        """Whether a session is being recorded."""
        return self._recorder is not None

    def record(self, recorder: Recorder) -> None:
        """Have requests and answers recorded, from the next request on."""
        self._recorder = recorder

    def end_recording(self) -> None:
        """Record no more; harmless if nothing is recorded."""
        self._recorder = None

    def answer(self, broker: Broker, peer: Peer, frame: memoryview) -> Any:
        try:
            if self._recorder is not None:
                return self._recorder.answer(broker, peer, frame, partial(super().answer, broker, peer, frame))
            return super().answer(broker, peer, frame)
        except CloseConnection as error:
            self._refused(broker, peer, frame, error)
            raise
