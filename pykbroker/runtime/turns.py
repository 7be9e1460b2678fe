"""How long the turns of the event loop take: while one lasts, nobody else is served.

A turn is what the loop does between two looks at its sockets: frames that arrived, timers that are due, results of
threads, waiting requests that are woken. Whatever enters from the loop reports ``began``; the first that does opens the
turn, and the loop's next call of what it was given ends it. That call costs a look at the sockets, a tenth of a small
request, so nothing is measured before somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable

from pykbroker.runtime.clock import Clock


class Turns:
    """A gauge of the longest turn, from ``measure`` on."""

    __slots__ = ("_began", "_clock", "_schedule", "call_soon", "count", "longest_s", "running")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = 0.0
        #: False where ``began`` has something to do: a turn may begin, and is to be measured.
        self.running = True
        #: Turns that ended since the start, and the longest of them, in seconds, since ``restart`` was called last.
        self.count = 0
        self.longest_s = 0.0
        #: The loop's, left here by the shell.
        self.call_soon: Callable[[Callable[[], None]], object] | None = None
        self._schedule: Callable[[Callable[[], None]], object] | None = None

    def measure(self, schedule: Callable[[Callable[[], None]], object] | None = None) -> None:
        """Measure from the next turn on, with ``schedule`` in place of the loop's call_soon where that is given. Without
        either there is no loop to measure.
        """
        schedule = schedule or self._schedule or self.call_soon
        if schedule is not None and self._schedule is None:
            self.running = False
        self._schedule = schedule

    def began(self, now: float | None = None) -> None:
        """Something entered from the loop, at ``now`` (monotonic seconds) where the caller knows it."""
        if self.running or self._schedule is None:
            return
        self.running = True
        self._began = self._clock.monotonic() if now is None else now
        self._schedule(self._ended)

    def restart(self) -> float:
        """The longest turn in seconds since the last restart; from here on it is looked for anew."""
        longest, self.longest_s = self.longest_s, 0.0
        return longest

    def _ended(self) -> None:
        self.running = False
        self.count += 1
        took = self._clock.monotonic() - self._began
        self.longest_s = max(self.longest_s, took)
