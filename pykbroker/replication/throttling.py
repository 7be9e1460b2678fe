"""Limits of replication's traffic (KIP-73), as Kafka's ReplicationQuotaManager: a rate in bytes per second, and the replicas that it is for.

What such replicas bring is counted whether they are in sync or not. Above the rate, only those out of sync are held back.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from pykbroker.runtime.digits import number
from pykbroker.runtime.rates import SimpleRate, Windows

#: All replicas of a topic, in place of some.
_ALL = ("*",)


#: Of a partition and of a broker, after zeros.
_MOST_DIGITS = 10


class ReplicationQuota:
    """See the module. ``limit`` is in bytes per second, infinite without one; times are in milliseconds of a monotonic clock."""

    __slots__ = ("_rate", "_throttled", "limit")

    def __init__(self, windows: Windows, now_ms: int) -> None:
        self.limit = math.inf
        self._rate = SimpleRate(windows, now_ms)
        #: The throttled partitions by topic; None are all.
        self._throttled: dict[str, frozenset[int] | None] = {}

    def throttle(self, topic: str, replicas: Iterable[str], node_id: int) -> None:
        """Take a topic's setting: ``*``, or partition:broker pairs, of which those of ``node_id`` count; nothing throttles nothing."""
        pairs = tuple(each for each in replicas if each)
        if not pairs:
            self._throttled.pop(topic, None)
        elif pairs == _ALL:
            self._throttled[topic] = None
        else:
            named = [pair.partition(":") for pair in pairs]
            indices = (_number(index) for index, _, broker in named if _number(broker) == node_id)
            self._throttled[topic] = frozenset(index for index in indices if index is not None)

    def is_throttled(self, topic: str, index: int) -> bool:
        """Whether the limit is for this partition's replica."""
        throttled = self._throttled
        if topic not in throttled:
            return False
        some = throttled[topic]
        return some is None or index in some

    def is_exceeded(self, now_ms: int) -> bool:
        """Whether more was used than the limit allows."""
        return self.limit != math.inf and self._rate.per_second(now_ms) > self.limit

    def holds_back(self, topic: str, index: int, now_ms: int) -> bool:
        """Whether a replica that is not in sync has to wait."""
        return self.is_throttled(topic, index) and self.is_exceeded(now_ms)

    def per_second(self, now_ms: int) -> float:
        """The bytes per second of the replicas that the limit is for."""
        return self._rate.per_second(now_ms)

    def record(self, size: int, now_ms: int) -> None:
        """Count ``size`` bytes."""
        self._rate.record(size, now_ms)

    def moved(self, topic: str, index: int, size: int, now_ms: int) -> None:
        """Count ``size`` bytes if the limit is for this partition's replica."""
        if size and self.is_throttled(topic, index):
            self.record(size, now_ms)


def _number(digits: str) -> int | None:
    return number(digits.lstrip("0") or "0", _MOST_DIGITS)
