"""How far a job is that answers at its end only: by the tasks of what Spark is at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pykbroker.cli.lake_options import Teller
from pykbroker.cli.output import Output
from pykbroker.runtime.clock import Clock, SystemClock

_LOOK_EVERY_S = 0.5


class Tasks:
    """The stages that run now. What stages follow, Spark itself does not know, so the time left is that of these."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stages: dict[int, tuple[int, int]] = {}
        self._begun_s = clock.monotonic()

    def seen(self, stages: dict[int, tuple[int, int]]) -> None:
        """``stages``: of each that runs, the tasks that are done and all of them."""
        if stages.keys() != self._stages.keys():
            self._begun_s = self._clock.monotonic()
        self._stages = stages

    def line(self) -> str:
        """As in ``stage 3: 12 of 40 tasks, 9 s left``."""
        if not self._stages:
            return "Spark plans"
        done = sum(each[0] for each in self._stages.values())
        total = sum(each[1] for each in self._stages.values())
        names = ", ".join(map(str, sorted(self._stages)))
        left = (self._clock.monotonic() - self._begun_s) / done * (total - done) if done else None
        return f"stage {names}: {done:,} of {total:,} tasks" + ("" if left is None else f", {left:.0f} s left")


@contextmanager
def watched(spark: Any, out: Output) -> Iterator[None]:
    """Tells of the tasks of the jobs within."""
    tasks, tracker = Tasks(SystemClock()), spark.sparkContext.statusTracker()

    def look() -> Tasks:
        found = {number: tracker.getStageInfo(number) for number in tracker.getActiveStageIds()}
        tasks.seen({number: (info.numCompletedTasks, info.numTasks) for number, info in found.items() if info})
        return tasks

    with told(look, out):
        yield


@contextmanager
def told(look: Callable[[], Any], out: Output, every_s: float = _LOOK_EVERY_S) -> Iterator[None]:
    """Tells of what ``look`` sees, from a thread of its own, while something goes on within."""
    ended = threading.Event()

    def tell() -> None:
        with Teller(out) as teller:
            while not ended.wait(every_s):
                teller.tell(look())

    thread = threading.Thread(target=tell, name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
