"""The deadlines of groups: one timer for each group that has one, in slices if thousands are due at once."""

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

#: The weight of a key that is due (``runtime/slices.py``).
_TICK_WEIGHT = 10


class Deadlines(Generic[S]):
    """See the module. ``tick`` does what is due for a key."""

    def __init__(self, runtime: Runtime, tick: Callable[[Loaded[S], str], None]) -> None:
        self._runtime = runtime
        self._tick = tick
        #: Keys that are due, and whether a piece of work handles them.
        self._due: deque[tuple[Loaded[S], str]] = deque()
        self._ticking = False

    def arm(self, loaded: Loaded[S], key: str) -> None:
        """Set the timer of a key to no later than its ``wake_at``."""
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
        """Cancel the timer of a key."""
        alarm = loaded.alarms.pop(key, None)
        if alarm is not None:
            alarm[1].cancel()

    def _wake(self, loaded: Loaded[S], key: str) -> None:
        """A key is due. Thousands may be due at once, so each waits for its slice; a request for a key (``CoordinatorRuntime.at``)
        does not wait for that.
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
    """Cancel the timers of a shard that is unloaded."""
    for _, timer in loaded.alarms.values():
        timer.cancel()
