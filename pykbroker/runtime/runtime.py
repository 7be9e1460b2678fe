"""What everything below the sockets needs of the process it runs in: time, chance, the end of a turn, threads."""

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
    """One for a process. The shell replaces what waits for something outside: threads, the loop's own turns."""

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
        #: For what clients wait for in their own time: the same, but where a test's clock stands still.
        self.client_timers = self.timers
        #: How long the turns of the loop take.
        self.turns = Turns(clock)
        self.wake_queue = WakeQueue()
        #: What is too much for one turn.
        self.slices = Slices(self.timers, self.wake_queue)
        #: Runs a function elsewhere and completes with its result; the shell replaces it by a thread pool.
        self.offload: Callable[..., Deferred[Any]] = run_inline
        #: The same for reads of files, which have threads of their own: however slow they are, syncs do not wait for them.
        self.offload_read: Callable[..., Deferred[Any]] = run_inline
        #: Answers that clients have not taken yet and their sockets neither, in bytes.
        self.unsent_bytes = 0


def run_inline(function: Callable[..., T], *args: Any) -> Deferred[T]:
    """Run a function here and now; what simulation and tests use in place of threads."""
    try:
        return Deferred.completed(function(*args))
    except Exception as error:  # noqa: BLE001 - the caller looks at the Deferred
        return Deferred.failed(error)
