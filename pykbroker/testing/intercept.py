"""What stands between clients and handlers in a test's broker: a dispatcher that lets others look at requests, and act.

One list for all who do, the outermost first: ``request log`` sees what the client sees, then come the faults.
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

#: Told of a frame that was no request, or none that is served, and of why its connection is closed.
Refused = Callable[["Broker", "Peer", memoryview, CloseConnection], None]


class Interceptors:
    """Steps as one step of the dispatcher; they may be added and removed while the broker runs."""

    def __init__(self) -> None:
        #: The outermost first.
        self.steps: list[Step] = []

    def __call__(self, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /) -> Answer:
        for step in reversed(self.steps):
            proceed = partial(step, broker, ctx, request, proceed)
        return proceed()


class WatchedDispatcher(Dispatcher):
    """A dispatcher that also tells of what does not come as far as its steps: what is not served, or malformed."""

    def __init__(self, intercept: Interceptors, refused: Refused, release: Release | None = None) -> None:
        if release is None:
            super().__init__(intercept=intercept)
        else:
            super().__init__(release.table, amend=release.amend, intercept=intercept)
        self._interceptors = intercept
        self._refused = refused
        #: Takes down what passes, as long as a session is recorded.
        self.recorder: Recorder | None = None

    def add_step(self, step: Step, *, innermost: bool = False) -> None:
        """Behind those that look on: they see what the client sees."""
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
