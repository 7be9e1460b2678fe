"""The use of one quota key on one broker, by holder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pykbroker.quotas.limits import Holder, Limit, QuotaLimits
from pykbroker.quotas.rates import Rate, TokenBucket, Windows

#: Above this number of holders, those without recent use are removed.
_SWEEP_FLOOR: Final = 1000


class RateUsage:
    """The use of bytes or time. ``most_ms`` is the longest throttle time."""

    def __init__(self, limits: QuotaLimits, windows: Windows, most_ms: int | None = None) -> None:
        self.limits = limits
        self.windows = windows
        self._most_ms = most_ms
        self._rates: dict[Holder, Rate] = {}
        self._sweep_at = _SWEEP_FLOOR

    def record(self, limit: Limit, value: float, now: int) -> int:
        """Record a use at ``now`` (milliseconds); returns the throttle time in milliseconds."""
        rate = self._rates.get(limit.holder)
        if rate is None:
            if len(self._rates) >= self._sweep_at:
                self._sweep(now)
            rate = self._rates[limit.holder] = Rate(self.windows, now)
        rate.limit = limit.bound
        rate.record(value, now)
        return self.throttle_ms(rate, now)

    def throttle_ms(self, rate: Rate, now: int) -> int:
        """The throttle time of a holder with this rate, in milliseconds."""
        throttle_ms = rate.throttle_ms(rate.limit, now)
        return throttle_ms if self._most_ms is None else min(throttle_ms, self._most_ms)

    def holders(self) -> Iterable[tuple[Holder, Rate]]:
        """The holders with recent use, and their rates."""
        return self._rates.items()

    def take_back(self, limit: Limit, value: float, now: int) -> None:
        """Subtract a use that was recorded and did not happen."""
        self._rates[limit.holder].record(-value, now)

    def rates(self, now: int) -> dict[Holder, float]:
        """The use per second of each holder."""
        return {holder: rate.per_second(now) for holder, rate in self._rates.items()}

    def _sweep(self, now: int) -> None:
        self._rates = {holder: rate for holder, rate in self._rates.items() if not rate.is_idle(now)}
        self._sweep_at = max(2 * len(self._rates), _SWEEP_FLOOR)


class TokenUsage:
    """The use of controller mutations, in partitions."""

    def __init__(self, limits: QuotaLimits, windows: Windows) -> None:
        self.limits = limits
        self.windows = windows
        self._buckets: dict[Holder, tuple[TokenBucket, float]] = {}
        self._sweep_at = _SWEEP_FLOOR

    def bucket(self, limit: Limit, now: int) -> TokenBucket:
        """The token bucket of the limit's holder."""
        kept = self._buckets.get(limit.holder)
        if kept is None and len(self._buckets) >= self._sweep_at:
            self._sweep(now)
        bucket = TokenBucket(self.windows) if kept is None else kept[0]
        self._buckets[limit.holder] = (bucket, limit.bound)
        return bucket

    def tokens(self, now: int) -> dict[Holder, float]:
        """The remaining tokens of each holder."""
        return {holder: bucket.tokens(bound, now) for holder, (bucket, bound) in self._buckets.items()}

    def _sweep(self, now: int) -> None:
        self._buckets = {holder: kept for holder, kept in self._buckets.items() if not kept[0].is_full(kept[1], now)}
        self._sweep_at = max(2 * len(self._buckets), _SWEEP_FLOOR)
