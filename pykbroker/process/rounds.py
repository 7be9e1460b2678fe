"""Work that is repeated in a running process."""

from __future__ import annotations

import logging
from collections.abc import Callable

from pykbroker.runtime.timers import Timers
from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.wire.errors import KafkaError

log = logging.getLogger(__name__)

#: The least interval, in milliseconds: some settings may be 0, which would leave no time for clients.
_SHORTEST_MS = 100


class Rounds:
    """Rounds by timers: that of a round is set when the round before has ended, so rounds of one work never overlap."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers

    def every(self, interval_ms: int, delay_ms: int, work: Callable[[], Deferred[None] | None]) -> None:
        """Do ``work`` after ``delay_ms``, and again ``interval_ms`` after its end, whether or not it failed."""
        interval_ms = max(interval_ms, _SHORTEST_MS)

        def begin() -> None:
            done = attempt(lambda: work() or Deferred.completed(None)).recover(Exception, tell)
            done.map(lambda _: self._timers.after(interval_ms, begin)).or_log("ending a housekeeping round")

        def tell(error: Exception) -> None:
            if isinstance(error, KafkaError):
                log.error("Housekeeping round failed (%s); retrying in %d ms", error, interval_ms)
            else:
                log.error("Unhandled error in a housekeeping round; retrying in %d ms", interval_ms, exc_info=error)

        self._timers.after(delay_ms, begin)
