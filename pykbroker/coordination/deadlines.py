"""When groups want to be woken: one timer for each that wants to, and turns where thousands come together."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from pykbroker.coordination.shard import Shard

if TYPE_CHECKING:
    from pykbroker.coordination.shards import Loaded
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.slices import Steps

S = TypeVar("S", bound=Shard)

#: What a key weighs whose time has come (``slices.py``).
_TICK_WEIGHT = 10


class Deadlines(Generic[S]):
    """See the module. ``tick`` does what has become due for a key."""

    def __init__(self, runtime: Runtime, tick: Callable[[Loaded[S], str], None]) -> None:
        self._runtime = runtime
        self._tick = tick
        #: Keys whose time has come, and whether they are being looked after.
        self._due: deque[tuple[Loaded[S], str]] = deque()
        self._ticking = False

    def arm(self, loaded: Loaded[S], key: str) -> None:
        """See to it that a key is woken no later than it wants to be."""
        wake_at = loaded.shard.wake_at(key)
        alarm = loaded.alarms.get(key)
        if alarm is not None:
            if wake_at == alarm[0]:
                return
            self.disarm(loaded, key)
        if wake_at < math.inf:
            delay_ms = max(wake_at - self._runtime.clock.monotonic(), 0) * 1000
            timer = self._runtime.timers.after(delay_ms, partial(self._wake, loaded, key))
            loaded.alarms[key] = (wake_at, timer)

    def disarm(self, loaded: Loaded[S], key: str) -> None:
        """Nobody needs to wake the key."""
        alarm = loaded.alarms.pop(key, None)
        if alarm is not None:
            alarm[1].cancel()

    def is_due(self, loaded: Loaded[S], key: str) -> bool:
        """Whether the time of a key has come, and it waits for its turn at most."""
        alarm = loaded.alarms.get(key)
        return alarm is not None and alarm[0] <= self._runtime.clock.monotonic()

    def _wake(self, loaded: Loaded[S], key: str) -> None:
        """The time of a key has come. Thousands may come together, so each waits for its turn; whoever asks for a key
        before that (``is_due``) brings it forward.
        """
        self._due.append((loaded, key))
        if not self._ticking:
            self._tick_some()

    def _tick_some(self) -> None:
        self._ticking = bool(self._due)
        if self._ticking:
            self._runtime.slices.add(self._tick_due(), over=self._tick_some)

    def _tick_due(self) -> Steps:
        while self._due:
            self._tick(*self._due.popleft())
            yield _TICK_WEIGHT


def disarm_all(loaded: Loaded[S]) -> None:
    """The shard goes: nothing wakes its keys any more."""
    for _, timer in loaded.alarms.values():
        timer.cancel()
