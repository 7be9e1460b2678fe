"""The time that requests of one connection take outside their handlers: parsing, decoding, encoding and writing.

As in Apache Kafka, whose network threads record theirs (``ClientRequestQuotaManager``), it counts and throttles the requests that
follow, not the one whose response is on its way already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.quotas.mutations import milliseconds

if TYPE_CHECKING:
    from pykbroker.quotas.limits import Limit
    from pykbroker.quotas.usage import RateUsage
    from pykbroker.runtime.clock import Clock


class ConnectionTime:
    """See the module; a ``TimeSpent``. ``usage`` is the use of ``request_percentage``, ``limit`` the quota of the latest request."""

    __slots__ = ("_clock", "_handled_s", "_resumed", "_usage", "limit")

    def __init__(self, usage: RateUsage, clock: Clock, limit: Limit) -> None:
        self._usage = usage
        self._clock = clock
        self.limit = limit
        #: Seconds in handlers, which are recorded with their responses.
        self._handled_s = 0.0
        #: When a response that waited was complete, in seconds of the clock.
        self._resumed: float | None = None

    def handled(self, seconds: float) -> None:
        """Note the time of a handler."""
        self._handled_s += seconds

    def resumed(self) -> None:
        """Note that a response which waited is complete now, to be encoded and written."""
        if self._resumed is None:
            self._resumed = self._clock.monotonic()

    def turn_over(self, began: float) -> None:
        seconds = self._clock.monotonic() - began - self._handled_s
        self._handled_s, self._resumed = 0.0, None
        self._record(seconds)

    def written(self) -> None:
        if self._resumed is not None:
            seconds, self._resumed = self._clock.monotonic() - self._resumed, None
            self._record(seconds)

    def _record(self, seconds: float) -> None:
        if seconds > 0 and self._usage.limits:  # none are left when the quotas are removed
            self._usage.record(self.limit, seconds * 100, milliseconds(self._clock))
