"""Virtual time: what is to come in one heap, and hosts that take their turns in it."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import re
import sys
from collections import deque
from collections.abc import Callable
from hashlib import blake2b
from struct import Struct
from typing import Any, Final

from pykbroker.worlds.tape import Tape, magnitude

#: The wall time at which worlds begin: 14 November 2023, 22:13:20 UTC.
BEGINNING_S: Final = 1_700_000_000
#: The monotonic time at which they begin: zero is what programs take for "never".
_MONOTONIC_S: Final = 1000.0
#: What a turn of a host takes, at the least, and where the tape says so. A clock that stands still would let a client whose
#: timer was rounded down spin for ever.
_TURN_S: Final = 20e-6
_LONGEST_TURN_S: Final = 0.3
_SLOW_TURNS: Final = 0.004

_FIRST_PID: Final = 1001

_ADDRESS: Final = re.compile(" at 0x[0-9a-f]+")
_EVENT = Struct("<dI")


class Stuck(RuntimeError):
    """Nothing is to come any more, or too much was done without an end; the text says what."""


class Host:
    """A process on a machine of its own, with its loop, its clock and its pauses. A crash ends it, and the next one is another."""

    def __init__(self, simulator: Simulator, name: str, skew_s: float = 0.0) -> None:
        self.simulator = simulator
        self.name = name
        #: A process of its own, as its clients tell others by.
        self.pid = next(simulator.pids)
        #: How far its wall clock is ahead.
        self.skew_s = skew_s
        self.alive = True
        #: Turns that it has taken.
        self.turns = 0
        #: Called with what ends the process out of a callback or a task; without it that ends the world.
        self.on_exit: Callable[[SystemExit], None] | None = None
        #: Called before each turn, which does not take place if the host is dead afterwards.
        self.before_turn: Callable[[], None] | None = None
        self.ready: deque[asyncio.Handle] = deque()
        self.loop: asyncio.AbstractEventLoop
        #: What Python calls at the beginning and the end of an async generator.
        self.generator_hooks: tuple[Any, Any] = (None, None)
        self._scheduled = False
        self._free_at = 0.0
        self._slow = simulator.tape.stream(f"{name} is slow", _SLOW_TURNS)

    def wake(self) -> None:
        """Take a turn as soon as it is free."""
        if not self._scheduled and self.alive:
            self._scheduled = True
            self.simulator.at(max(self.simulator.now, self._free_at), self._turn)

    def pause(self, seconds: float) -> None:
        """Do nothing for so long, as in a long collection of garbage or on a frozen virtual machine."""
        self._free_at = max(self._free_at, self.simulator.now + seconds)

    def call(self, handle: asyncio.Handle) -> None:
        """Run a callback in the next turn."""
        if self.alive:
            self.ready.append(handle)
            if not self._scheduled:
                self.wake()

    def _turn(self) -> None:
        self._scheduled = False
        simulator = self.simulator
        if self._free_at > simulator.now:
            self.wake()
            return
        if self.before_turn is not None:
            self.before_turn()
        if not self.alive:
            return
        self.turns += 1
        ready = self.ready
        simulator.enter(self)
        try:
            for _ in range(len(ready)):
                handle = ready.popleft()
                if not handle.cancelled():
                    handle._run()  # noqa: SLF001 - what a loop does with its handles
                if not self.alive:
                    return
        except SystemExit as ended:
            if self.on_exit is None:
                raise
            self.on_exit(ended)
            return
        finally:
            simulator.leave()
        slow = self._slow.choose()
        if slow:
            seconds = magnitude(slow, _TURN_S, _LONGEST_TURN_S)
            self._free_at = simulator.now + seconds
            simulator.note(self.name, "slow", f"a turn takes {seconds * 1000:.1f} ms")
        else:
            self._free_at = simulator.now + _TURN_S
        if ready:
            self.wake()

    def die(self) -> None:
        """Run nothing any more."""
        self.alive = False
        self.ready.clear()


class Simulator:
    """See the module. ``recording`` keeps a line for all that happens, for a report."""

    def __init__(self, tape: Tape, *, recording: bool = False) -> None:
        self.tape = tape
        #: Seconds since the world began.
        self.now = 0.0
        #: The host whose turn it is.
        self.current: Host | None = None
        self.recording = recording
        self.pids = itertools.count(_FIRST_PID)
        #: What happened: seconds, host, kind, words.
        self.steps = 0
        self.events: list[tuple[float, str, str, str]] = []
        #: Told whenever another host has its turn, or time has passed in it.
        self.clock_moved: Callable[[float], None] | None = None
        self._heap: list[tuple[float, int, Callable[..., None], Any]] = []
        self._sequence = 0
        self._hash = blake2b(digest_size=8)

    @property
    def monotonic(self) -> float:
        """Seconds on the clock that never goes back, the same on all hosts."""
        return _MONOTONIC_S + self.now

    def wall(self, host: Host | None) -> float:
        """Seconds since the epoch, on a host's clock."""
        return BEGINNING_S + self.now + (0.0 if host is None else host.skew_s)

    def at(self, when: float, function: Callable[..., None], argument: Any = None) -> None:
        """Call a function at a moment (seconds since the beginning), after what was planned for it before."""
        self._sequence = sequence = self._sequence + 1
        heapq.heappush(self._heap, (when, sequence, function, argument))

    def after(self, seconds: float, function: Callable[..., None], argument: Any = None) -> None:
        """Call a function after so many seconds."""
        self.at(self.now + seconds, function, argument)

    def note(self, host: str, kind: str, words: str) -> None:
        """Add to the record, and to the hash of all that happened. Addresses, which errors may have, are left out."""
        if " at 0x" in words:
            words = _ADDRESS.sub("", words)
        self.hash(f"{host} {kind} {words}".encode(errors="backslashreplace"))
        if self.recording:
            self.events.append((self.now, host, kind, words))

    def hash(self, what: bytes) -> None:
        """Add to the hash of all that happened."""
        self._hash.update(_EVENT.pack(self.now, len(what)))
        self._hash.update(what)

    @property
    def trace_hash(self) -> str:
        """The hash of all that happened so far: 16 hexadecimal digits."""
        return self._hash.hexdigest()

    def enter(self, host: Host) -> None:
        """Begin a turn of a host."""
        self.current = host
        if self.clock_moved is not None:
            self.clock_moved(self.wall(host))
        asyncio._set_running_loop(host.loop)  # noqa: SLF001 - what a loop does
        sys.set_asyncgen_hooks(*host.generator_hooks)

    def leave(self) -> None:
        """End it."""
        self.current = None
        asyncio._set_running_loop(None)  # noqa: SLF001 - what a loop does
        sys.set_asyncgen_hooks(None, None)

    def run(self, until: Callable[[], bool], most_steps: int) -> None:
        """Let time pass until the condition holds. Raises Stuck when nothing is to come, or after ``most_steps``."""
        heap = self._heap
        pop = heapq.heappop
        for _ in range(most_steps):
            if until():
                return
            if not heap:
                raise Stuck("nothing is to come any more, and the test waits: it awaits what will not happen")
            when, _, function, argument = pop(heap)
            self.steps += 1
            self.now = max(self.now, when)
            if argument is None:
                function()
            else:
                function(argument)
        raise Stuck(
            f"{most_steps} steps and {self.now:.0f} s of the world's time have passed without an end: something is asked "
            "again and again without a pause, or the test awaits what never happens"
        )
