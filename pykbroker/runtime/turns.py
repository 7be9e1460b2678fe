"""Measures the turns of the event loop; while one lasts, no other client is served.

A turn is the work of the loop between two polls of its sockets: frames that arrived, due timers, results of threads,
requests that are woken. Each entry point from the loop calls ``began``; the first call opens the turn and schedules the
callback that ends it. That callback costs a poll of the sockets, a tenth of a small request, so nothing is measured until
``measure`` is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock


class Turns:
    """A gauge of the longest turn, from ``measure`` on."""

    __slots__ = ("_began", "_clock", "_schedule", "call_soon", "count", "longest_s", "running")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = 0.0
        #: False if ``began`` has work to do: turns are measured and none is open.
        self.running = True
        #: The number of turns since the start, and the longest since the last ``restart``, in seconds.
        self.count = 0
        self.longest_s = 0.0
        #: The loop's call_soon, set by the shell.
        self.call_soon: Callable[[Callable[[], None]], object] | None = None
        self._schedule: Callable[[Callable[[], None]], object] | None = None

    def measure(self, schedule: Callable[[Callable[[], None]], object] | None = None) -> None:
        """Measure from the next turn on; ``schedule`` takes the place of the loop's call_soon, if given. Without either
        there is no loop to measure.
        """
        schedule = schedule or self._schedule or self.call_soon
        if schedule is not None and self._schedule is None:
            self.running = False
        self._schedule = schedule

    def began(self, now: float | None = None) -> None:
        """Note an entry from the loop, at ``now`` (monotonic seconds) if the caller knows it."""
        if self.running or self._schedule is None:
            return
        self.running = True
        self._began = self._clock.monotonic() if now is None else now
        self._schedule(self._ended)

    def restart(self) -> float:
        """The longest turn since the last restart, in seconds; resets it."""
        longest, self.longest_s = self.longest_s, 0.0
        return longest

    def _ended(self) -> None:
        self.running = False
        self.count += 1
        took = self._clock.monotonic() - self._began
        self.longest_s = max(self.longest_s, took)
