from __future__ import annotations

import gc
import weakref
from typing import Any

from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.slices import Slices
from pykbroker.runtime.timers import Timers
from pykbroker.runtime.waiting_work import WaitingWork, carry_out
from pykbroker.runtime.waits import Deferred, WakeQueue


class Result:
    """What nothing else refers to."""


def test_work_waits_and_goes_on_and_its_result_is_gone_with_its_last_use() -> None:
    """Without the collector of cycles."""
    queue = WakeQueue()
    slices = Slices(Timers(ManualClock()), queue)
    wait: Deferred[None] = Deferred()

    def work() -> WaitingWork[Result]:
        yield 1
        yield wait
        return Result()

    gc.collect()
    gc.disable()
    try:
        over: Deferred[Any] = carry_out(slices, work())
        queue.run()
        assert not over.done
        wait.complete(None)
        queue.run()
        result = weakref.ref(over.value)
        assert result() is not None
        del over
        assert result() is None
    finally:
        gc.enable()
