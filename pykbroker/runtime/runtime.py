"""What everything below the sockets needs of its process: time, randomness, the end of a turn, threads."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeVar

from pykbroker.runtime.clock import Clock
from pykbroker.runtime.slices import Slices
from pykbroker.runtime.timers import Timers
from pykbroker.runtime.turns import Turns
from pykbroker.runtime.waits import Deferred, WakeQueue

T = TypeVar("T")


class Runtime:
    """One per process. The shell replaces the parts that need the outside: threads and the turns of the event loop."""

    __slots__ = (
        "client_timers",
        "clock",
        "offload",
        "offload_read",
        "random",
        "slices",
        "timers",
        "turns",
        "unsent_bytes",
        "wake_queue",
    )

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self.clock = clock
        self.random = rng
        self.timers = Timers(clock)
        #: Deadlines by real time, for waits of clients; the same as ``timers`` unless a test's clock stands still.
        self.client_timers = self.timers
        #: The gauge of the loop's turns.
        self.turns = Turns(clock)
        self.wake_queue = WakeQueue()
        #: Work divided over several turns.
        self.slices = Slices(self.timers, self.wake_queue)
        #: Runs a function and completes with its result; the shell replaces it by a thread pool.
        self.offload: Callable[..., Deferred[Any]] = run_inline
        #: The same for reads of files, which have threads of their own so that syncs do not wait for slow reads.
        self.offload_read: Callable[..., Deferred[Any]] = run_inline
        #: Bytes of answers that neither clients nor their sockets have taken yet.
        self.unsent_bytes = 0


def run_inline(function: Callable[..., T], *args: Any) -> Deferred[T]:
    """Run a function at once, in place of a thread, for simulation and tests."""
    try:
        return Deferred.completed(function(*args))
    except Exception as error:  # noqa: BLE001 - the caller looks at the Deferred
        return Deferred.failed(error)
