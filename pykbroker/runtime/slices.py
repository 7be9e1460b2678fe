"""Work that is too much for one turn of the loop is divided into slices, between which clients are served.

A piece of work is an iterator of weights: each step does a little, yields its weight, and continues in a later turn, on
state that others may have changed. Whatever nobody may see half done belongs in one step.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from pykbroker.runtime.waits import Deferred, all_of, as_wait, gather

if TYPE_CHECKING:
    from pykbroker.runtime.timers import Timer, Timers
    from pykbroker.runtime.waits import WakeQueue

log = logging.getLogger(__name__)

#: The weight of one turn, over all work. A weight of one is about ten microseconds: a small record encoded, appended with
#: others, and replayed.
WEIGHT_OF_A_TURN = 500

#: A step should not be much heavier than this.
WEIGHT_OF_A_STEP = 100

#: The weight of an item that is passed over, because an equal one was worked on before.
_WEIGHT_OF_A_REPETITION = 0.1

#: Items up to which equal ones are answered each, as Apache Kafka answers them.
FEW = 20

Steps = Iterator[float]

T = TypeVar("T")
U = TypeVar("U")

#: Steps with a result, or with the wait for it.
Work = Generator[float, None, T | Deferred[T]]


class Slices:
    """All sliced work of the process; pieces take turns, so that a long one does not delay the others."""

    def __init__(self, timers: Timers, wake_queue: WakeQueue) -> None:
        self._timers = timers
        self._wake_queue = wake_queue
        self._waiting: deque[tuple[Steps, Callable[[], None] | None]] = deque()
        self.weight_of_a_turn: float = WEIGHT_OF_A_TURN

    @property
    def weight_of_a_step(self) -> float:
        """The weight that a step should not exceed by much."""
        return min(WEIGHT_OF_A_STEP, self.weight_of_a_turn)

    def __len__(self) -> int:
        """The number of pieces of work that are not done."""
        return len(self._waiting)

    def add(self, steps: Steps, over: Callable[[], None] | None = None) -> None:
        """Do the work from the end of this turn on. ``over`` is called when it has ended or failed."""
        self._waiting.append((steps, over))
        self._wake_queue.add(self._turn)

    def run(self, work: Work[T]) -> T | Deferred[T]:
        """The result of ``work``, whose first steps are done now and the others in later turns: a little work is done at once
        and costs no wait. Raises what its first steps raise; the wait fails with what later ones raise.
        """
        left = self.weight_of_a_step
        try:
            while left > 0:
                left -= next(work)
        except StopIteration as ended:
            return cast("T | Deferred[T]", ended.value)
        result: Deferred[T] = Deferred()
        self.add(_settling(work, result))
        return result

    def begin(self, steps: Steps) -> None:
        """Do the first steps now and the others in later turns, so that a little work is done when this returns."""
        if _go_on(steps, self.weight_of_a_step) <= 0:
            self.add(steps)

    @overload
    def each(
        self,
        items: Sequence[U],
        answer: Callable[[U], Deferred[T]],
        *,
        weight: float = 1,
        once: Callable[[U], Hashable] | None = None,
    ) -> list[T] | Deferred[list[T]]: ...

    @overload
    def each(
        self,
        items: Sequence[U],
        answer: Callable[[U], T],
        *,
        weight: float = 1,
        once: Callable[[U], Hashable] | None = None,
    ) -> list[T] | Deferred[list[T]]: ...

    def each(
        self,
        items: Sequence[U],
        answer: Callable[[U], Any],
        *,
        weight: float = 1,
        once: Callable[[U], Hashable] | None = None,
    ) -> list[Any] | Deferred[list[Any]]:
        """``answer`` of each item, in order: at once if there are few, else in slices. ``weight`` is that of one answer, and
        of more than a few those for which ``once`` returns the same are answered once. Raises and fails as ``run`` does.
        """
        if len(items) == 1:
            return all_of([answer(items[0])])
        if len(items) <= FEW:
            once = None
        return self.run(_each(items, answer, weight, once))

    def every(self, interval_ms: float, work: Callable[[], Steps]) -> Callable[[], None]:
        """Do ``work`` repeatedly, ``interval_ms`` milliseconds after the start or the end of the last round, so that rounds
        never overlap. Returns the function that ends this: no further round begins.
        """
        planned: Timer | None = None
        stopped = False

        def begin() -> None:
            self.add(_begun_in_its_turn(work), over=plan)

        def plan() -> None:
            nonlocal planned
            if not stopped:
                planned = self._timers.after(interval_ms, begin)

        def stop() -> None:
            nonlocal stopped
            stopped = True
            if planned is not None:
                planned.cancel()

        plan()
        return stop

    def stop(self) -> None:
        """Drop all work; the process is about to end."""
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


def at_once(work: Generator[float, None, T]) -> T:
    """The result of ``work``, all of it now: it is a little, or nobody waits since the process does not serve yet."""
    try:
        while True:
            next(work)
    except StopIteration as ended:
        return cast("T", ended.value)


def independently(pieces: Iterable[Steps]) -> Steps:
    """Combine pieces of work; a failure of one does not keep the others from being done."""
    for steps in pieces:
        try:
            yield from steps
        except Exception:
            log.exception("Unhandled error in a step of background work; other work goes on")


def _settling(work: Work[T], result: Deferred[T]) -> Steps:
    """Does the work and passes its result on."""
    try:
        found = yield from work
    except Exception as error:  # noqa: BLE001 - whoever waits looks at it
        result.fail(error)
    else:
        as_wait(found).pass_to(result)


def _each(
    items: Iterable[U],
    answer: Callable[[U], T | Deferred[T]],
    weight: float,
    once: Callable[[U], Hashable] | None,
) -> Work[list[T]]:
    seen: set[Hashable] = set()
    results: list[T] = []
    waited: list[Deferred[None]] = []
    for item in items:
        if once is not None:
            key = once(item)
            if key in seen:
                yield _WEIGHT_OF_A_REPETITION
                continue
            seen.add(key)
        found = answer(item)
        if isinstance(found, Deferred):
            if not found.done:
                waited.append(found.map(partial(results.__setitem__, len(results))))
            found = cast("T", found.value if found.done else None)
        results.append(found)
        yield weight
    return gather(waited).map(lambda _: results) if waited else results


def _begun_in_its_turn(work: Callable[[], Steps]) -> Steps:
    """Calls ``work`` in its first step, so that a failure of the call counts as one of the work and the next round follows."""
    yield from work()


def _go_on(steps: Steps, left: float) -> float:
    """Run steps until the turn is used up or the work has ended; returns what is left of the turn."""
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
