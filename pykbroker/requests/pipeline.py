"""The places around a handler, in one order, whoever fills them and whenever.

decode -> authenticate -> MEASURE -> OBSERVE -> THROTTLE -> AUTHORISE -> AMEND -> INTERCEPT -> VALIDATE -> ADVERTISE -> FORWARD -> handle -> encode

``dispatcher.py`` decodes and encodes. Authentication has the connection's frames to itself before they reach the dispatcher
(``authentication.py``). The places between are empty unless somebody fills them, and then cost nothing.

The order has two reasons. What may answer by itself (amendments of earlier releases, injected faults) comes after authorization,
so that it neither answers nor changes anything for who has no right to it. What counts stands around authorization: metrics and the request
log see what the client sees, and quotas count refused requests. In time authorization comes first, since a quota is counted when the answer
is known. Both are as in Apache Kafka: ``KafkaApis`` authorizes, and ``RequestHandlerHelper`` records the request with the client's quotas when it
sends the answer, an authorization error like any other (``sendMaybeThrottle``, ``sendErrorResponseMaybeThrottle``; Produce in its own callback).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer, Handle
    from pykbroker.security.context import RequestContext

    # Protocols are for the type checker: at run time each would take 12 KB of memory, and nobody asks for them.
    class Guard(Protocol):
        """What fills a place: it wraps the handler of an API, once for each API."""

        def __call__(self, api_key: int, handle: Handle, /) -> Handle: ...

    class Step(Protocol):
        """A guard that looks at each request alike. It returns the result of ``proceed()``, an answer of its own, or a wait for either, and
        may raise what a handler may.
        """

        def __call__(
            self, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /
        ) -> Answer: ...


class Place(IntEnum):
    """A place around the handlers, the outermost first."""

    #: Metrics: requests and answers as clients see them.
    MEASURE = 0
    #: The request log of tests.
    OBSERVE = 1
    #: Quotas of clients. Records the response, and may delay the requests that follow; answers nothing by itself.
    THROTTLE = 2
    #: The access lists.
    AUTHORISE = 3
    #: What an earlier release answers otherwise.
    AMEND = 4
    #: Fault rules, and the steps of tests.
    INTERCEPT = 5
    #: The schema ids of produced records, by the registry of the process.
    VALIDATE = 6
    #: The addresses of brokers in answers.
    ADVERTISE = 7
    #: What another process answers, the controller.
    FORWARD = 8


class PlaceTakenError(RuntimeError):
    """A place is filled already: two of a kind would hide each other."""


#: Places whose guards read the size of the request frame (``RequestContext.size``).
_READ_SIZE: Final = frozenset((Place.OBSERVE, Place.THROTTLE, Place.INTERCEPT))


class Pipeline:
    """What fills the places of one dispatcher. ``changed`` is called after each change."""

    def __init__(self, filled: Mapping[Place, Guard], changed: Callable[[], None]) -> None:
        self._filled = dict(filled)
        self._changed = changed

    def fill(self, place: Place, guard: Guard) -> None:
        """Fill a place, from the next request on. Raises PlaceTakenError."""
        if place in self._filled:
            raise PlaceTakenError(f"{place.name} is filled already; empty it first")
        self._filled[place] = guard
        self._changed()

    def empty(self, place: Place) -> None:
        """Empty a place, from the next request on; one that is empty stays so."""
        if self._filled.pop(place, None) is not None:
            self._changed()

    def fills(self, place: Place) -> bool:
        """Whether a place is filled."""
        return place in self._filled

    @property
    def reads_size(self) -> bool:
        """Whether anything here reads the size of request frames."""
        return not _READ_SIZE.isdisjoint(self._filled)

    def around(self, api_key: int, handle: Handle) -> Handle:
        """Return a handler with all that is around it."""
        for place in sorted(self._filled, reverse=True):
            handle = self._filled[place](api_key, handle)
        return handle


def through(step: Step) -> Guard:
    """Return the guard that has each request pass ``step``."""

    def guard(_api_key: int, handle: Handle, /) -> Handle:
        def stepped(broker: Broker, ctx: RequestContext, request: Any, /) -> Answer:
            return step(broker, ctx, request, partial(handle, broker, ctx, request))

        return stepped

    return guard
