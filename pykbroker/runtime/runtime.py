"""What everything below the sockets needs of its process: time, randomness, the end of a turn, threads."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Shell:
    """What a process has of the outside. ``offload`` and ``offload_read`` run a function in a thread and complete with its result;
    ``breathe`` lets other threads run, in one that computes for long; ``call_soon`` and ``wake`` (at a deadline, monotonic seconds) are
    the event loop's; ``call_from_thread`` is its ``call_soon`` for other threads; ``run_queue`` runs what is due at the end of a turn; ``relieve`` has others give back memory that they only keep.
    """

    offload: Callable[..., Deferred[Any]]
    offload_read: Callable[..., Deferred[Any]]
    breathe: Callable[[], None]
    call_soon: Callable[[Callable[[], None]], object]
    call_from_thread: Callable[[Callable[[], None]], object]
    run_queue: Callable[[Callable[[], None]], object]
    relieve: Callable[[], None]
    wake: Callable[[float], None]


class Runtime:
    """One per process. Without a shell functions run inline, and nothing is awakened by itself: simulations and tests do that."""

    __slots__ = (
        "breathe",
        "call_from_thread",
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
        #: Runs a function and completes with its result; in a thread, where there is a shell.
        self.offload: Callable[..., Deferred[Any]] = run_inline
        #: The same for reads of files, which have threads of their own so that syncs do not wait for slow reads.
        self.offload_read: Callable[..., Deferred[Any]] = run_inline
        #: Calls a function on the loop, from any thread.
        self.call_from_thread: Callable[[Callable[[], None]], object] = self.wake_queue.add
        #: Lets other threads run, in a thread that computes for long.
        self.breathe: Callable[[], None] = _nothing
        #: What waits to be received, decompressed and sent.
        self.memory = MemoryBudget()
        #: How many records a turn may still decode.
        self.decoding = DecodingAllowance(self.wake_queue)

    def run_in(self, shell: Shell) -> None:
        """Use the threads and the loop of a process from now on."""
        self.offload, self.offload_read, self.breathe = shell.offload, shell.offload_read, shell.breathe
        self.turns.call_soon, self.call_from_thread = shell.call_soon, shell.call_from_thread
        self.wake_queue.run_by(shell.run_queue)
        self.memory.relieve = shell.relieve
        self.timers.wake_by(shell.wake)

    def rest(self) -> None:
        """Have the loop of the process run nothing more: neither what becomes due nor the ends of turns."""
        self.timers.wake_by(None)
        self.wake_queue.run_by(None)

    def watch_threads(self, around: Callable[[Callable[..., Deferred[Any]]], Callable[..., Deferred[Any]]]) -> None:
        """Have ``around`` wrap what begins work in threads."""
        self.offload, self.offload_read = around(self.offload), around(self.offload_read)

    def wait_by(self, timers: Timers) -> None:
        """Have waits of clients end by other timers than ``timers``, as while a test's clock stands still."""
        self.client_timers = timers


def _nothing() -> None:
    """The breath of a process without threads."""


def run_inline(function: Callable[..., T], *args: Any) -> Deferred[T]:
    """Run a function at once, in place of a thread, for simulation and tests."""
    try:
        return Deferred.completed(function(*args))
    except Exception as error:  # noqa: BLE001 - the caller looks at the Deferred
        return Deferred.failed(error)
