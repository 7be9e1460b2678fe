"""Group commit: produces that wait for a sync of a partition's log share one (``flush.messages=1`` under load)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred, attempt

if TYPE_CHECKING:
    from collections.abc import Callable

    from pykbroker.runtime.waits import WakeQueue


class GroupCommit:
    """The syncs of one log, one after the other. ``sync`` runs one; ``ended`` is called after it, failed or not."""

    __slots__ = ("_ended", "_sync", "_syncing", "_waiting", "_wake_queue")

    def __init__(self, wake_queue: WakeQueue, sync: Callable[[], Deferred[None]], ended: Callable[[], None]) -> None:
        self._wake_queue = wake_queue
        self._sync = sync
        self._ended = ended
        #: The wait of the produces since the last sync began.
        self._waiting: Deferred[None] | None = None
        self._syncing = False

    def synced(self) -> Deferred[None]:
        """Completes when everything appended so far is synced.

        A caller that arrives while a sync runs waits for the next one, which begins when this one ends.
        """
        waiting = self._waiting
        if waiting is None:
            waiting = self._waiting = Deferred()
            if not self._syncing:
                self._wake_queue.add(self._begin)
        return waiting

    def _begin(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._syncing = True
            synced = attempt(self._sync)
            synced.pass_to(waiting)
            synced.settled().map(self._end).or_log("continuing after a sync")

    def _end(self, _synced: None) -> None:
        self._syncing = False
        self._begin()
        self._ended()
