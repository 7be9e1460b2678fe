"""The progress of a replay, from the positions that its tasks commit in the target cluster."""

from __future__ import annotations

import time
from collections.abc import Callable

from pykbroker.lake.ledger import Offsets


class ReplayProgress:
    """Progress in archived offsets. Some offsets have no row, and filters exclude some; ``aim`` knows the last that are sent."""

    def __init__(self, ends: Offsets, clock: Callable[[], float] = time.monotonic) -> None:
        self._ends = dict(ends)
        self._clock = clock
        self._begun_s = clock()
        self._begin: int | None = None
        self._left = sum(self._ends.values())

    def aim(self, ends: Offsets, positions: Offsets) -> None:
        """Begin at these positions; ``ends`` are those at which nothing is left, of the partitions that have something to send."""
        self._ends = dict(ends)
        self._begin = None
        self.seen(positions)

    def seen(self, positions: Offsets) -> ReplayProgress:
        """Take the committed positions, which include those of earlier runs; returns itself."""
        self._left = sum(max(end - positions.get(place, 0), 0) for place, end in self._ends.items())
        if self._begin is None:
            self._begin, self._begun_s = self._left, self._clock()
        return self

    def line(self) -> str:
        """For example ``1,200,000 offsets, 85,000 a second, 300,000 to go, 4 s left``."""
        sent = 0 if self._begin is None else self._begin - self._left
        rate = sent / max(self._clock() - self._begun_s, 0.001)
        left = f", {self._left / rate:.0f} s left" if rate else ""
        return f"{sent:,} offsets, {rate:,.0f} a second, {self._left:,} to go{left}"
