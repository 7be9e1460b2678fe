"""The use of one quota key on one broker, by holder."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from pykbroker.quotas.limits import Holder, Limit, QuotaLimits
from pykbroker.runtime.rates import Rate, TokenBucket, Windows

#: From this number of holders on, each new one has others looked at, of which those without recent use are removed: clients choose
#: their ids, so there may be any number.
_MANY: Final = 1000
_LOOKED_AT: Final = 3


class RateUsage:
    """The use of bytes or time. ``most_ms`` is the longest throttle time."""

    def __init__(self, limits: QuotaLimits, windows: Windows, most_ms: int | None = None) -> None:
        self.limits = limits
        self.windows = windows
        self._most_ms = most_ms
        #: Those that were looked at longest ago first.
        self._rates: OrderedDict[Holder, Rate] = OrderedDict()

    def record(self, limit: Limit, value: float, now: int) -> int:
        """Record a use at ``now`` (milliseconds); returns the throttle time in milliseconds."""
        rate = self._rates.get(limit.holder)
        if rate is None:
            if len(self._rates) >= _MANY:
                self._forget_some(now)
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

    def _forget_some(self, now: int) -> None:
        for _ in range(_LOOKED_AT):
            holder, rate = self._rates.popitem(last=False)
            if not rate.is_idle(now):
                self._rates[holder] = rate


class TokenUsage:
    """The use of controller mutations, in partitions."""

    def __init__(self, limits: QuotaLimits, windows: Windows) -> None:
        self.limits = limits
        self.windows = windows
        #: Those that were looked at longest ago first.
        self._buckets: OrderedDict[Holder, tuple[TokenBucket, float]] = OrderedDict()

    def bucket(self, limit: Limit, now: int) -> TokenBucket:
        """The token bucket of the limit's holder."""
        kept = self._buckets.get(limit.holder)
        if kept is None and len(self._buckets) >= _MANY:
            self._forget_some(now)
        bucket = TokenBucket(self.windows) if kept is None else kept[0]
        self._buckets[limit.holder] = (bucket, limit.bound)
        return bucket

    def holders(self) -> Iterable[tuple[Holder, tuple[TokenBucket, float]]]:
        """The holders with recent use, their buckets, and their quotas."""
        return self._buckets.items()

    def tokens(self, now: int) -> dict[Holder, float]:
        """The remaining tokens of each holder."""
        return {holder: bucket.tokens(bound, now) for holder, (bucket, bound) in self._buckets.items()}

    def _forget_some(self, now: int) -> None:
        for _ in range(_LOOKED_AT):
            holder, kept = self._buckets.popitem(last=False)
            if not kept[0].is_full(kept[1], now):
                self._buckets[holder] = kept
