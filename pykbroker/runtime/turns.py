"""How long the turns of the event loop take: while one lasts, nobody else is served.

A turn is what the loop does between two looks at its sockets: frames that arrived, timers that are due, results of
threads, waiting requests that are woken. Whatever enters from the loop reports ``began``; the first that does opens the
turn, and the loop's next call of what it was given by ``schedule`` ends it.
"""

from __future__ import annotations

from collections.abc import Callable

from pykbroker.runtime.clock import Clock


class Turns:
    """A gauge of the longest turn. The shell sets ``schedule`` to the loop's call_soon; without it nothing is measured."""

    __slots__ = ("_began", "_clock", "count", "longest_s", "running", "schedule")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = 0.0
        #: Whether a turn is being measured; whoever knows the time may look here before a call of ``began``.
        self.running = False
        #: Turns that ended since the start, and the longest of them, in seconds, since ``restart`` was called last.
        self.count = 0
        self.longest_s = 0.0
        self.schedule: Callable[[Callable[[], None]], object] | None = None

    def began(self, now: float | None = None) -> None:
        """Something entered from the loop, at ``now`` (monotonic seconds) where the caller knows it."""
        if self.running or self.schedule is None:
            return
        self.running = True
        self._began = self._clock.monotonic() if now is None else now
        self.schedule(self._ended)

    def restart(self) -> float:
        """The longest turn in seconds since the last restart; from here on it is looked for anew."""
        longest, self.longest_s = self.longest_s, 0.0
        return longest

    def _ended(self) -> None:
        self.running = False
        self.count += 1
        took = self._clock.monotonic() - self._began
        self.longest_s = max(self.longest_s, took)
