"""One heap of deadlines for the whole process.

A timer of the event loop costs microseconds to set and to cancel, and most of the broker's are cancelled (a fetch that a
produce wakes, a session that gets its heartbeat). So one heap holds the deadlines, a cancelled one is dropped when it
comes up, and the loop is asked for one wake-up: the earliest.
"""

from __future__ import annotations

import heapq
import logging
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock

log = logging.getLogger(__name__)

_SWEEP_FLOOR = 64


class Timer:
    """A deadline that can be cancelled. Compares by deadline, then by order of setting."""

    __slots__ = ("_callback", "deadline", "sequence")

    def __init__(self, deadline: float, sequence: int, callback: Callable[[], None]) -> None:
        self.deadline = deadline
        self.sequence = sequence
        self._callback: Callable[[], None] | None = callback

    @property
    def cancelled(self) -> bool:
        """True once cancelled or fired."""
        return self._callback is None

    def cancel(self) -> None:
        """Cancel; harmless when repeated or after firing."""
        self._callback = None

    def fire(self) -> None:
        """Run the callback, once."""
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()

    def __lt__(self, other: Timer) -> bool:
        return (self.deadline, self.sequence) < (other.deadline, other.sequence)


class Timers:
    """Deadlines on an injected clock. The shell calls ``run_due`` at the deadlines that it is given by ``wake_by``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: Deadline, order of setting and timer: tuples, since these are compared without calls of Python functions.
        self._heap: list[tuple[float, int, Timer]] = []
        self._sequence = 0
        self._sweep_at = _SWEEP_FLOOR
        self._running = False
        #: The earliest deadline (monotonic seconds), possibly of a cancelled timer: nothing is due before it.
        self.next_due = math.inf
        self._wake: Callable[[float], None] | None = None

    def wake_by(self, wake: Callable[[float], None] | None) -> None:
        """From now on ``wake`` is called with a deadline (monotonic seconds) that becomes the earliest one; None for never."""
        self._wake = wake

    def after(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        """Call ``callback`` once, ``delay_ms`` milliseconds from now, unless cancelled."""
        self._sequence = sequence = self._sequence + 1
        deadline = self._clock.monotonic() + delay_ms / 1000
        timer = Timer(deadline, sequence, callback)
        heap = self._heap
        heapq.heappush(heap, (deadline, sequence, timer))
        if heap[0][2] is timer:
            self.next_due = deadline
            if self._wake is not None:
                self._wake(deadline)
        if len(heap) > self._sweep_at:
            self._sweep()
        return timer

    def pause(self, ms: float) -> Deferred[None]:
        """A wait of ``ms`` milliseconds."""
        over: Deferred[None] = Deferred()
        self.after(ms, lambda: over.complete(None))
        return over

    def every(self, interval_ms: float, callback: Callable[[], None]) -> None:
        """Call ``callback`` each ``interval_ms`` milliseconds, first after one of them; a failing call is logged by
        ``run_due`` and does not end the series.
        """

        def run() -> None:
            self.after(interval_ms, run)
            callback()

        self.after(interval_ms, run)

    def next_deadline(self) -> float | None:
        """The earliest live deadline in monotonic seconds."""
        heap = self._heap
        while heap and heap[0][2].cancelled:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def run_due(self) -> None:
        """Fire all due timers in order; a failure is logged and does not stop the others.

        A nested call from a timer's callback returns at once, and the first call continues.
        """
        if self._running:
            return
        self._running = True
        try:
            self._run_due()
        finally:
            self._running = False
            self.next_due = self._heap[0][0] if self._heap else math.inf

    def _run_due(self) -> None:
        heap = self._heap
        now = self._clock.monotonic()
        while heap and (heap[0][0] <= now or heap[0][2].cancelled):
            _, _, timer = heapq.heappop(heap)
            try:
                timer.fire()
            except Exception:
                log.exception("Unhandled error in a timer; the others run")

    def _sweep(self) -> None:
        """Drop cancelled timers when the heap has doubled since the last sweep: memory stays bounded by the live ones."""
        live = [entry for entry in self._heap if not entry[2].cancelled]
        heapq.heapify(live)
        self._heap[:] = live
        self._sweep_at = max(2 * len(live), _SWEEP_FLOOR)
