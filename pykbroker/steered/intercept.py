"""The dispatcher of a test's broker, whose steps can be changed while it runs.

The steps are one list, the outermost first: the request log, which sees what the client sees, then faults.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pykbroker.handlers.contract import CloseConnection
from pykbroker.requests.dispatcher import Dispatcher, Step

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer
    from pykbroker.releases.release import Release
    from pykbroker.security.context import Peer, RequestContext
    from pykbroker.sessions.recording import Recorder

#: Called with a frame that is malformed or not served, and the reason for which its connection is closed.
Refused = Callable[["Broker", "Peer", memoryview, CloseConnection], None]


class Interceptors:
    """A list of steps that is one step of the dispatcher; it may change while the broker runs."""

    def __init__(self) -> None:
        #: The outermost first.
        self.steps: list[Step] = []

    def __call__(self, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /) -> Answer:
        for step in reversed(self.steps):
            proceed = partial(step, broker, ctx, request, proceed)
        return proceed()


class WatchedDispatcher(Dispatcher):
    """A dispatcher that also reports frames that do not reach its steps: malformed ones, and those of APIs not served."""

    def __init__(self, intercept: Interceptors, refused: Refused, release: Release | None = None) -> None:
        if release is None:
            super().__init__(intercept=intercept)
        else:
            super().__init__(release.table, amend=release.amend, intercept=intercept)
        self._interceptors = intercept
        self._refused = refused
        #: Records requests and answers, while a session is being recorded.
        self.recorder: Recorder | None = None

    def add_step(self, step: Step, *, innermost: bool = False) -> None:
        """Add a step inside those that observe, so that they see what the client sees."""
        if innermost:
            super().add_step(step, innermost=True)
        else:
            self._interceptors.steps.append(step)

    def remove_step(self, step: Step) -> None:
        if step in self._interceptors.steps:
            self._interceptors.steps.remove(step)
        else:
            super().remove_step(step)

    def answer(self, broker: Broker, peer: Peer, frame: memoryview) -> Any:
        try:
            if self.recorder is not None:
                return self.recorder.answer(broker, peer, frame, partial(super().answer, broker, peer, frame))
            return super().answer(broker, peer, frame)
        except CloseConnection as error:
            self._refused(broker, peer, frame, error)
            raise
