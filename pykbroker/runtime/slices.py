"""Work that is too much for one turn of the loop: it is done some at a time, and clients are served in between.

A piece of work is an iterator of weights: each step does a little, yields what that weighed, and goes on in a later turn,
on a state that others may have changed meanwhile. What must not be seen half done is done in one step.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.runtime.timers import Timers
    from pykbroker.runtime.waits import WakeQueue

log = logging.getLogger(__name__)

#: What is done in one turn, of all work together. A weight of one is about ten microseconds: a small record encoded,
#: appended with others, and replayed.
WEIGHT_OF_A_TURN = 500

#: A step that is much heavier than this should have been two.
WEIGHT_OF_A_STEP = 100

Steps = Iterator[float]


class Slices:
    """All such work of the process; pieces take turns, so that a long one does not hold up those after it."""

    def __init__(self, timers: Timers, wake_queue: WakeQueue) -> None:
        self._timers = timers
        self._wake_queue = wake_queue
        self._waiting: deque[tuple[Steps, Callable[[], None] | None]] = deque()
        self.weight_of_a_turn: float = WEIGHT_OF_A_TURN

    @property
    def weight_of_a_step(self) -> float:
        """What a step should not weigh much more than."""
        return min(WEIGHT_OF_A_STEP, self.weight_of_a_turn)

    def __len__(self) -> int:
        """Pieces of work that are not done yet."""
        return len(self._waiting)

    def add(self, steps: Steps, over: Callable[[], None] | None = None) -> None:
        """Do the work from the end of this turn on. ``over`` is called when it has ended, also where it failed."""
        self._waiting.append((steps, over))
        self._wake_queue.add(self._turn)

    def every(self, interval_ms: float, work: Callable[[], Steps]) -> None:
        """Do ``work`` each time so long after it has ended, first after ``interval_ms`` milliseconds: however slow a round
        is, it never overlaps itself.
        """

        def begin() -> None:
            self.add(_begun_in_its_turn(work), over=plan)

        def plan() -> None:
            self._timers.after(interval_ms, begin)

        plan()

    def stop(self) -> None:
        """The process is about to end: what is not done yet is left."""
        self._waiting.clear()

    def _turn(self) -> None:
        left = self.weight_of_a_turn
        while self._waiting and left > 0:
            steps, over = self._waiting.popleft()
            left = _go_on(steps, left)
            if left <= 0:
                self._waiting.append((steps, over))
            elif over is not None:
                _tell(over)
        if self._waiting:
            self._wake_queue.add(self._turn)


def each_alone(pieces: Iterable[Steps]) -> Steps:
    """Many pieces as one: where one of them fails, the others are done all the same, in this round and in every other."""
    for steps in pieces:
        try:
            yield from steps
        except Exception:
            log.exception("Unhandled error in a step of background work; other work goes on")


def _begun_in_its_turn(work: Callable[[], Steps]) -> Steps:
    """So that what fails at its beginning is a failure of the work, and its next round comes all the same."""
    yield from work()


def _go_on(steps: Steps, left: float) -> float:
    """What is left of the turn when it is used up, or the work has ended."""
    try:
        for weight in steps:
            left -= weight
            if left <= 0:
                break
    except Exception:
        log.exception("Unhandled error in background work; the rest of it is dropped")
    return left


def _tell(over: Callable[[], None]) -> None:
    try:
        over()
    except Exception:
        log.exception("Unhandled error at the end of background work; other work goes on")
