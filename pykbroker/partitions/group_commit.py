"""Group commit: produces that wait for a sync of a partition's log share one (``flush.messages=1`` under load)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred, attempt

if TYPE_CHECKING:
    from collections.abc import Callable

    from pykbroker.runtime.waits import WakeQueue


class GroupCommit:
    """The syncs of one log, one after the other.

    ``sync`` runs one, of everything before ``log_end`` as it is then; ``ended`` is called after it, failed or not.
    """

    __slots__ = ("_ended", "_log_end", "_running", "_running_to", "_sync", "_waiting", "_wake_queue")

    def __init__(
        self,
        wake_queue: WakeQueue,
        sync: Callable[[], Deferred[None]],
        ended: Callable[[], None],
        log_end: Callable[[], int],
    ) -> None:
        self._wake_queue = wake_queue
        self._sync = sync
        self._ended = ended
        self._log_end = log_end
        #: The wait for the next sync, which has not begun.
        self._waiting: Deferred[None] | None = None
        #: The wait for the sync that runs, and the offset before which it syncs everything.
        self._running: Deferred[None] | None = None
        self._running_to = 0

    def synced(self, end: int) -> Deferred[None]:
        """Completes when everything before the offset ``end`` is synced.

        While a sync runs that began before this was appended, a caller waits for the next one, which begins when that one ends.
        """
        if self._running is not None and end <= self._running_to:
            return self._running
        waiting = self._waiting
        if waiting is None:
            waiting = self._waiting = Deferred()
            if self._running is None:
                self._wake_queue.add(self._begin)
        return waiting

    def _begin(self) -> None:
        self._running, self._waiting = self._waiting, None
        if self._running is not None:
            self._running_to = self._log_end()
            synced = attempt(self._sync)
            synced.pass_to(self._running)
            synced.settled().map(self._end).or_log("continuing after a sync")

    def _end(self, _synced: None) -> None:
        self._begin()
        self._ended()
