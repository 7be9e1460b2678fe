"""The use of all who are held to one quota key on one broker."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pykbroker.quotas.limits import Holder, Limit, Limits
from pykbroker.quotas.rates import Rate, TokenBucket, Windows

#: Of more than so many holders at once, those that used nothing for long are forgotten.
_SWEEP_FLOOR: Final = 1000


class RateUsage:
    """Of bytes, or of time. ``most_ms``: how long anybody has to wait at most."""

    def __init__(self, limits: Limits, windows: Windows, most_ms: int | None = None) -> None:
        self.limits = limits
        self.windows = windows
        self._most_ms = most_ms
        self._rates: dict[Holder, Rate] = {}
        self._sweep_at = _SWEEP_FLOOR

    def record(self, limit: Limit, value: float, now: int) -> int:
        """Count a use. Returns how many milliseconds to wait for it."""
        rate = self._rates.get(limit.holder)
        if rate is None:
            if len(self._rates) >= self._sweep_at:
                self._sweep(now)
            rate = self._rates[limit.holder] = Rate(self.windows, now)
        rate.limit = limit.bound
        rate.record(value, now)
        return self.throttle_ms(rate, now)

    def throttle_ms(self, rate: Rate, now: int) -> int:
        """How long a holder has to wait."""
        throttle_ms = rate.throttle_ms(rate.limit, now)
        return throttle_ms if self._most_ms is None else min(throttle_ms, self._most_ms)

    def holders(self) -> Iterable[tuple[Holder, Rate]]:
        """All that used something, with their use."""
        return self._rates.items()

    def take_back(self, limit: Limit, value: float, now: int) -> None:
        """What was counted just now was not used after all."""
        self._rates[limit.holder].record(-value, now)

    def rates(self, now: int) -> dict[Holder, float]:
        """The use per second of each holder."""
        return {holder: rate.per_second(now) for holder, rate in self._rates.items()}

    def _sweep(self, now: int) -> None:
        self._rates = {holder: rate for holder, rate in self._rates.items() if not rate.is_idle(now)}
        self._sweep_at = max(2 * len(self._rates), _SWEEP_FLOOR)


class TokenUsage:
    """Of changes to the metadata, in partitions."""

    def __init__(self, limits: Limits, windows: Windows) -> None:
        self.limits = limits
        self.windows = windows
        self._buckets: dict[Holder, tuple[TokenBucket, float]] = {}
        self._sweep_at = _SWEEP_FLOOR

    def bucket(self, limit: Limit, now: int) -> TokenBucket:
        """The holder's."""
        kept = self._buckets.get(limit.holder)
        if kept is None and len(self._buckets) >= self._sweep_at:
            self._sweep(now)
        bucket = TokenBucket(self.windows) if kept is None else kept[0]
        self._buckets[limit.holder] = (bucket, limit.bound)
        return bucket

    def tokens(self, now: int) -> dict[Holder, float]:
        """How many each holder has left."""
        return {holder: bucket.tokens(bound, now) for holder, (bucket, bound) in self._buckets.items()}

    def _sweep(self, now: int) -> None:
        self._buckets = {holder: kept for holder, kept in self._buckets.items() if not kept[0].is_full(kept[1], now)}
        self._sweep_at = max(2 * len(self._buckets), _SWEEP_FLOOR)
