"""Time that stands still until a test moves it, while real clients are connected.

Deadlines of the brokers (sessions, rebalances, transactions, retention, housekeeping) wait for ``advance``. Waits on behalf of
a client, above all the long poll of a fetch, pass in real time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from pykbroker.faults.durations import milliseconds
from pykbroker.process.life import LifeEnded
from pykbroker.runtime.clock import ManualClock, SystemClock
from pykbroker.runtime.timers import Timers

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.process.life import Life
    from pykbroker.runtime.waits import Deferred

#: The most steps of an ``advance``, which goes from deadline to deadline: a year has many rounds of housekeeping. A deadline
#: is late by at most this fraction of the advance.
_MOST_STEPS = 2000
#: Defaults with a manual clock: without an initial rebalance delay, or nobody could join before ``advance``.
MANUAL_CLOCK_SETTINGS: Final = {"group.initial.rebalance.delay.ms": "0"}


def standing_still(config: BrokerConfig) -> BrokerConfig:
    """The settings of a broker with a manual clock."""
    more = {name: value for name, value in MANUAL_CLOCK_SETTINGS.items() if name not in config.explicit}
    return config.with_texts(more)


class _Offload(Protocol):
    def __call__(self, function: Callable[..., Any], *args: Any) -> Deferred[Any]: ...


class _Work:
    """The work of one life of the cluster in threads, counted; waits of clients pass in real time."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.runtime = runtime = life.cluster.runtime
        self._under_way = 0
        self._changed = asyncio.Event()
        runtime.watch_threads(self._counted)
        self._loop, self._patience = asyncio.get_running_loop(), Timers(SystemClock())
        self._patience.wake_by(self._wake)
        runtime.wait_by(self._patience)
        life.at_end(self._end)

    def _wake(self, deadline: float) -> None:
        self._loop.call_later(max(0.0, deadline - SystemClock().monotonic()), self._run_due)

    def _run_due(self) -> None:
        if self.life.over:
            return
        self._patience.run_due()
        following = self._patience.next_deadline()
        if following is not None:
            self._wake(following)

    def _counted(self, offload: _Offload) -> _Offload:
        def counted(function: Callable[..., Any], *args: Any) -> Deferred[Any]:
            self._under_way += 1
            begun = offload(function, *args)
            begun.settled().map(self._one_done).or_log("counting work in threads")
            return begun

        return counted

    def _one_done(self, _: None) -> None:
        self._under_way -= 1
        self._changed.set()

    def _end(self) -> None:
        self._patience.wake_by(None)
        self._changed.set()

    async def quiet(self) -> None:
        """Wait until nothing is due: ends of turns, sliced work, work in threads. Raises LifeEnded."""
        while True:
            await asyncio.sleep(0)
            if self.life.over:
                raise LifeEnded
            if self._under_way:
                self._changed.clear()
                await self._changed.wait()
            elif not (len(self.runtime.wake_queue) or len(self.runtime.slices)):
                return


class ManualTime:
    """The clock of one process, from now on, through all lives of its cluster. ``follow`` and ``advance`` belong to its loop."""

    def __init__(self) -> None:
        self.clock = ManualClock(SystemClock().now_ms())
        self._work: _Work | None = None

    def follow(self, life: Life) -> None:
        """Track the work of these brokers in threads, and let waits of clients pass in real time."""
        self._work = _Work(life)

    async def advance(self, ms: int) -> None:
        """Advance the clock; returns when all that became due is done. Raises LifeEnded if the brokers stop or are reset
        meanwhile.
        """
        work = self._work
        if work is None or work.life.over:
            raise LifeEnded
        timers = work.runtime.timers
        ends = self.clock.monotonic() + ms / 1000
        least = ms / 1000 / _MOST_STEPS
        await work.quiet()
        while (now := self.clock.monotonic()) < ends:
            deadline = timers.next_deadline()
            until = ends if deadline is None else min(ends, max(deadline, now + least))
            self.clock.advance(max(1, round((until - now) * 1000 + 0.499)))
            timers.run_due()
            await work.quiet()


def duration(text: str | float | None, units: dict[str, float]) -> int:
    """Milliseconds of ``"45s"``, or of ``seconds=45``. Raises ValueError, in words."""
    if (text is None) == (not units):
        raise ValueError('write a duration: advance("45s"), or advance(seconds=45)')
    if text is not None:
        return milliseconds(text)
    sizes = {"ms": 1, "seconds": 1000, "minutes": 60_000, "hours": 3_600_000, "days": 86_400_000}
    total = 0
    for name, amount in units.items():
        if name not in sizes:
            raise ValueError(f"{name} is not a unit of time; write one of {', '.join(sizes)}")
        total += (
            milliseconds(amount) * sizes[name] if float(amount).is_integer() else milliseconds(amount * sizes[name])
        )
    return total
