"""Kafka's Rate and SimpleRate over windows and its TokenBucket, with the throttle time of each. Pure; times are milliseconds."""

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
        """Seconds' worth of a rate that may be used at once: a rate is measured over at least this time."""
        return (self.number - 1) * self.size_ms / 1000


class _Sample:
    """Use since ``start``, recorded last at ``last``."""

    __slots__ = ("last", "start", "value")

    def __init__(self, now: int) -> None:
        self.begin(now)

    def begin(self, now: int) -> None:
        self.start = self.last = now
        self.value = 0.0


class Rate:
    """Use per second over the last windows, as Kafka's Rate and SampledStat compute it.

    One more sample than windows is kept, since the oldest may be only partly within them. A sample begins with the first
    use, so the samples cover the time since the start of the oldest, which counts as at least all windows but one.
    """

    __slots__ = ("_at", "_samples", "_windows", "limit")

    def __init__(self, windows: Windows, now: int) -> None:
        #: The quota, for metrics.
        self.limit = math.inf
        self._windows = windows
        self._samples = [_Sample(now)]
        self._at = 0

    def record(self, value: float, now: int) -> None:
        """Add a use; a negative one takes an earlier one back."""
        sample = self._samples[self._at]
        if now - sample.start >= self._windows.size_ms:
            sample = self._next(now)
        sample.value += value
        sample.last = now

    def measure(self, now: int) -> tuple[float, int]:
        """(use, milliseconds in which it was used)."""
        for sample in self._samples:
            if now - sample.last >= self._windows.total_ms:
                sample.begin(now)
        passed = self._counted_ms(now - min(sample.start for sample in self._samples))
        return sum(sample.value for sample in self._samples), max(passed, 1)

    def _counted_ms(self, passed: int) -> int:
        """The milliseconds that a rate is over, where the oldest sample began so long ago."""
        missing = self._windows.number - 1 - passed // self._windows.size_ms
        return passed + missing * self._windows.size_ms if missing > 0 else passed

    def per_second(self, now: int) -> float:
        """The use per second."""
        used, passed_ms = self.measure(now)
        return used * 1000 / passed_ms

    def throttle_ms(self, limit: float, now: int) -> int:
        """Milliseconds without use after which the rate is down to ``limit``; 0 if it is not above."""
        used, passed_ms = self.measure(now)
        rate = used / (passed_ms / 1000)
        return 0 if rate <= limit else rounded((rate - limit) / limit * passed_ms)

    def is_idle(self, now: int) -> bool:
        """Whether nothing was used within the windows, so that a new object would be equivalent."""
        return all(now - sample.last >= self._windows.total_ms for sample in self._samples)

    def _next(self, now: int) -> _Sample:
        self._at = (self._at + 1) % (self._windows.number + 1)
        if self._at == len(self._samples):
            self._samples.append(_Sample(now))
        else:
            self._samples[self._at].begin(now)
        return self._samples[self._at]


class SimpleRate(Rate):
    """Kafka's SimpleRate: a rate is over the time since the oldest sample began, which counts as at least one window."""

    __slots__ = ()

    def _counted_ms(self, passed: int) -> int:
        return max(passed, self._windows.size_ms)


class TokenBucket:
    """Gains tokens at the rate of the limit, at most those of all windows. May be overdrawn, after which tokens are owed."""

    __slots__ = ("_tokens", "_updated", "_windows")

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._tokens = math.inf  # full, for any limit
        self._updated = 0

    def tokens(self, limit: float, now: int) -> float:
        """The number of tokens; negative if tokens are owed."""
        most = limit * self._windows.total_ms / 1000
        self._tokens = min(most, self._tokens + limit * (now - self._updated) / 1000)
        self._updated = now
        return self._tokens

    def take(self, count: float, limit: float, now: int) -> None:
        """Take ``count`` tokens, even if there are fewer."""
        self._tokens = self.tokens(limit, now) - count

    def throttle_ms(self, limit: float, now: int) -> int:
        """Milliseconds until no tokens are owed; 0 if none are."""
        tokens = self.tokens(limit, now)
        return 0 if tokens >= 0 else rounded(-tokens / limit * 1000)

    def is_full(self, limit: float, now: int) -> bool:
        """Whether all tokens are back, so that a new object would be equivalent."""
        return self.tokens(limit, now) >= limit * self._windows.total_ms / 1000


def rounded(milliseconds: float) -> int:
    """Rounded as by Java's Math.round, at most the largest throttle_time_ms."""
    return min(math.floor(milliseconds + 0.5), 2**31 - 1)
