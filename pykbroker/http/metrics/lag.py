"""The delay of the event loop, measured by a timer.

The gauge of ``runtime/turns.py`` is exact, but costs a tenth of a small request while it measures. This one costs
ten turns a second, each as much as a small request, and finds every turn of a tenth of a second.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pykbroker.http.metrics.times import Times

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock

_EVERY_S = 0.1


class LoopLag:
    """Measures from ``start`` to ``stop``, on the running loop."""

    def __init__(self, clock: Clock) -> None:
        self.times = Times()
        self._now = clock.monotonic
        self._due = 0.0
        self._next: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._due = self._now() + _EVERY_S
        self._next = asyncio.get_running_loop().call_later(_EVERY_S, self._look)

    def stop(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _look(self) -> None:
        self.times.note(max(0.0, self._now() - self._due))
        self.start()
