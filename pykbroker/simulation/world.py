"""Virtual time, one list of events to come, and the seed that decides about everything."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial
from random import Random

from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.waits import Deferred
from pykbroker.simulation.network import Network
from pykbroker.simulation.server import SimulatedServer
from pykbroker.worlds.disk import SimulatedDisk


class World:
    """See the package. ``settings`` are the brokers'; ``brokers`` is how many there are in the one server process."""

    def __init__(self, seed: int, brokers: int = 1, settings: dict[str, str] | None = None) -> None:
        self.seed = seed
        self.clock = ManualClock()
        #: Milliseconds since the world began.
        self.now_ms = 0
        self.disk = SimulatedDisk()
        #: What happened, a line per event: (milliseconds since the start, what).
        self.trace: list[tuple[int, str]] = []
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self.server = SimulatedServer(self, brokers, settings or {})
        self.network = Network(self)

    def randomness(self, purpose: str) -> Random:
        """A source of random numbers for one purpose, so that what one actor draws does not change what others get."""
        return Random(f"{self.seed}/{purpose}")

    def note(self, what: str) -> None:
        """Add a line to the trace."""
        self.trace.append((self.now_ms, what))

    def at(self, delay_ms: int, event: Callable[[], None]) -> None:
        """Let ``event`` happen so many milliseconds from now, after what was planned for that moment before."""
        self._sequence += 1
        heapq.heappush(self._events, (self.now_ms + delay_ms, self._sequence, event))

    def sleep(self, ms: int) -> Deferred[None]:
        """Completes after ``ms`` milliseconds."""
        slept: Deferred[None] = Deferred()
        self.at(ms, partial(slept.complete, None))
        return slept

    def run(self, ms: int, until: Callable[[], bool] | None = None) -> bool:
        """Let up to ``ms`` milliseconds pass, less if ``until`` becomes true; whether it did (or was not given)."""
        end = self.now_ms + ms
        while until is None or not until():
            timer = self.server.next_deadline_ms()
            due = min(self._events[0][0], timer) if self._events else timer
            if due > end:
                self._advance(end)
                return until is None
            self._advance(int(due))
            if timer <= self.now_ms:
                self.server.run_timers()
            else:
                heapq.heappop(self._events)[2]()
        return True

    def _advance(self, now_ms: int) -> None:
        if now_ms > self.now_ms:
            self.clock.advance(now_ms - self.now_ms)
            self.now_ms = now_ms
