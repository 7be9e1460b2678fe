"""What everything below the sockets needs of its process: time, randomness, the end of a turn, threads."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pykbroker.runtime.decoding import DecodingAllowance
from pykbroker.runtime.memory import MemoryBudget
from pykbroker.runtime.slices import Slices
from pykbroker.runtime.timers import Timers
from pykbroker.runtime.turns import Turns
from pykbroker.runtime.waits import Deferred, WakeQueue

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock

T = TypeVar("T")


class Runtime:
    """One per process. The shell replaces the parts that need the outside: threads and the turns of the event loop."""

    __slots__ = (
        "breathe",
        "client_timers",
        "clock",
        "decoding",
        "memory",
        "offload",
        "offload_read",
        "random",
        "slices",
        "timers",
        "turns",
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
        #: Lets other threads run, in a thread that computes for long; the shell replaces it.
        self.breathe: Callable[[], None] = _nothing
        #: What waits to be received, decompressed and sent.
        self.memory = MemoryBudget()
        #: How many records a turn may still decode.
        self.decoding = DecodingAllowance(self.wake_queue)


def _nothing() -> None:
    """The breath of a process without threads."""


def run_inline(function: Callable[..., T], *args: Any) -> Deferred[T]:
    """Run a function at once, in place of a thread, for simulation and tests."""
    try:
        return Deferred.completed(function(*args))
    except Exception as error:  # noqa: BLE001 - the caller looks at the Deferred
        return Deferred.failed(error)
