"""Progress of a Spark job that reports only at its end, from the tasks of its running stages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from pykbroker.cli.lake_options import Teller
from pykbroker.cli.output import Output
from pykbroker.runtime.clock import SystemClock

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock

_LOOK_EVERY_S = 0.5


class Tasks:
    """The stages that run now.

    Spark does not know the stages that follow, so the time left is that of the running ones.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stages: dict[int, tuple[int, int]] = {}
        self._begun_s = clock.monotonic()

    def seen(self, stages: dict[int, tuple[int, int]]) -> None:
        """``stages``: for each running stage, the number of finished tasks and of all."""
        if stages.keys() != self._stages.keys():
            self._begun_s = self._clock.monotonic()
        self._stages = stages

    def line(self) -> str:
        """Return a line such as ``stage 3: 12 of 40 tasks, 9 s left``."""
        if not self._stages:
            return "Spark plans"
        done = sum(each[0] for each in self._stages.values())
        total = sum(each[1] for each in self._stages.values())
        names = ", ".join(map(str, sorted(self._stages)))
        left = (self._clock.monotonic() - self._begun_s) / done * (total - done) if done else None
        return f"stage {names}: {done:,} of {total:,} tasks" + ("" if left is None else f", {left:.0f} s left")


@contextmanager
def watched(spark: Any, out: Output) -> Iterator[None]:
    """Show the tasks of Spark jobs that run within."""
    tasks, tracker = Tasks(SystemClock()), spark.sparkContext.statusTracker()

    def look() -> Tasks:
        found = {number: tracker.getStageInfo(number) for number in tracker.getActiveStageIds()}
        tasks.seen({number: (info.numCompletedTasks, info.numTasks) for number, info in found.items() if info})
        return tasks

    with showing_progress(look, out):
        yield


@contextmanager
def showing_progress(look: Callable[[], Any], out: Output, every_s: float = _LOOK_EVERY_S) -> Iterator[None]:
    """Show what ``look`` returns, from a thread of its own, until the context ends."""
    ended = threading.Event()

    def tell() -> None:
        with (
            Teller(out) as teller,
            suppress(Exception),
        ):  # what is only shown never ends the job, which says what is wrong
            while not ended.wait(every_s):
                teller.tell(look())

    thread = threading.Thread(target=tell, name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
