"""Waits for the commit of a replicated partition's records, in a queue by offset."""

from __future__ import annotations

import heapq

from pykbroker.runtime.waits import Deferred


class CommitWaits:
    """See the module. Each wait is its caller's alone, so a caller may end it before, at its own time limit."""

    __slots__ = ("_number", "_queue")

    def __init__(self) -> None:
        #: (end offset, order of arrival, wait); a wait that its caller has ended stays until its offset is reached.
        self._queue: list[tuple[int, int, Deferred[None]]] = []
        self._number = 0

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, end: int) -> Deferred[None]:
        """The wait for everything before ``end``."""
        wait: Deferred[None] = Deferred()
        self._number += 1
        heapq.heappush(self._queue, (end, self._number, wait))
        return wait

    def reached(self, high_watermark: int) -> list[Deferred[None]]:
        """Remove the waits for what is committed, and return them in the order of offsets."""
        queue, over = self._queue, []
        while queue and queue[0][0] <= high_watermark:
            over.append(heapq.heappop(queue)[2])
        return over

    def all(self) -> list[Deferred[None]]:
        """Remove all waits, and return them in the order of offsets."""
        return self.reached(2**63)
