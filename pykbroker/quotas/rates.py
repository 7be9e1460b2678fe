"""How much was used, and what that costs in waiting: Kafka's Rate over windows, and its token bucket. Pure; times are milliseconds."""

from __future__ import annotations

import math
from typing import NamedTuple


class Windows(NamedTuple):
    """``quota.window.num`` windows of ``quota.window.size.seconds`` each."""

    number: int = 11
    size_ms: int = 1000

    @property
    def total_ms(self) -> int:
        return self.number * self.size_ms

    @property
    def burst_s(self) -> float:
        """Seconds' worth of a rate that may pass at once: the time is taken to be so long even when nothing was used before."""
        return (self.number - 1) * self.size_ms / 1000


class _Sample:
    """What was used from ``start`` on, for the last time at ``last``."""

    __slots__ = ("last", "start", "value")

    def __init__(self, now: int) -> None:
        self.begin(now)

    def begin(self, now: int) -> None:
        self.start = self.last = now
        self.value = 0.0


class Rate:
    """Use per second, over the samples that reach into the last windows.

    One sample more than windows is kept, for the oldest lies across the border. A sample begins when something is used and not
    before, so the time that they cover is told by the start of the oldest, and is at least all windows but one.
    """

    __slots__ = ("_at", "_samples", "_windows", "limit")

    def __init__(self, windows: Windows, now: int) -> None:
        #: What it is held to, for those who tell of it.
        self.limit = math.inf
        self._windows = windows
        self._samples = [_Sample(now)]
        self._at = 0

    def record(self, value: float, now: int) -> None:
        """Count a use; a negative one takes back what was counted."""
        sample = self._samples[self._at]
        if now - sample.start >= self._windows.size_ms:
            sample = self._next(now)
        sample.value += value
        sample.last = now

    def measure(self, now: int) -> tuple[float, int]:
        """What was used, and in how many milliseconds."""
        for sample in self._samples:
            if now - sample.last >= self._windows.total_ms:
                sample.begin(now)
        passed = now - min(sample.start for sample in self._samples)
        missing = self._windows.number - 1 - passed // self._windows.size_ms
        if missing > 0:
            passed += missing * self._windows.size_ms
        return sum(sample.value for sample in self._samples), max(passed, 1)

    def per_second(self, now: int) -> float:
        """The rate."""
        used, passed_ms = self.measure(now)
        return used * 1000 / passed_ms

    def throttle_ms(self, limit: float, now: int) -> int:
        """How long nothing may be used until the rate is ``limit`` again; 0 where it is not above."""
        used, passed_ms = self.measure(now)
        rate = used / (passed_ms / 1000)
        return 0 if rate <= limit else rounded((rate - limit) / limit * passed_ms)

    def is_idle(self, now: int) -> bool:
        """Whether it is as good as a new one."""
        return all(now - sample.last >= self._windows.total_ms for sample in self._samples)

    def _next(self, now: int) -> _Sample:
        self._at = (self._at + 1) % (self._windows.number + 1)
        if self._at == len(self._samples):
            self._samples.append(_Sample(now))
        else:
            self._samples[self._at].begin(now)
        return self._samples[self._at]


class TokenBucket:
    """Tokens come at the limit's rate, as many as the windows are long at most. They may be overdrawn once."""

    __slots__ = ("_tokens", "_updated", "_windows")

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._tokens = math.inf  # full, whatever the limit is
        self._updated = 0

    def tokens(self, limit: float, now: int) -> float:
        """How many there are; below 0 as many as are owed."""
        most = limit * self._windows.total_ms / 1000
        self._tokens = min(most, self._tokens + limit * (now - self._updated) / 1000)
        self._updated = now
        return self._tokens

    def take(self, count: float, limit: float, now: int) -> None:
        """Take some, whether they are there or not."""
        self._tokens = self.tokens(limit, now) - count

    def throttle_ms(self, limit: float, now: int) -> int:
        """How long it takes until nothing is owed; 0 where nothing is."""
        tokens = self.tokens(limit, now)
        return 0 if tokens >= 0 else rounded(-tokens / limit * 1000)

    def is_full(self, limit: float, now: int) -> bool:
        """Whether it is as good as a new one."""
        return self.tokens(limit, now) >= limit * self._windows.total_ms / 1000


def rounded(milliseconds: float) -> int:
    """As Java rounds, and as much as throttle_time_ms can say."""
    return min(math.floor(milliseconds + 0.5), 2**31 - 1)
