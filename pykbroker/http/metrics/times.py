"""Durations as counts by bucket: cheap to record, for quantiles and for Prometheus' histograms.

A bucket is one of eight equal parts between two powers of two of a microsecond, so a quantile is exact to an eighth of
itself. Up to fifteen microseconds each one has a bucket of its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import accumulate
from operator import sub
from typing import Final

#: Buckets; the last one takes all longer times: more than a day.
_PARTS: Final = 8 * 36
#: Seconds after which quantiles drop old counts; they look back at most twice as far.
_WINDOW_S: Final = 60.0

#: Quantiles as the JMX exporter writes Kafka's in the label.
QUANTILES: Final = {"0.50": 0.5, "0.75": 0.75, "0.95": 0.95, "0.98": 0.98, "0.99": 0.99, "0.999": 0.999}
#: Upper bounds of Prometheus' buckets in seconds: bounds of our own, so that nothing is interpolated.
_BOUNDS_US: Final = tuple(2**power for power in range(5, 25))
BOUNDS_S: Final = tuple(bound / 1_000_000 for bound in _BOUNDS_US)


class Times:
    """Counts of one kind of duration, since its creation."""

    __slots__ = ("_marks", "counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * _PARTS
        self.sum_s = 0.0
        #: Earlier counts, oldest first.
        self._marks: deque[tuple[float, list[int]]] = deque([(0.0, [])])

    @property
    def count(self) -> int:
        return sum(self.counts)

    def note(self, seconds: float) -> None:
        """Record one duration."""
        self.sum_s += seconds
        microseconds = int(seconds * 1_000_000)
        self.counts[_PART_OF[microseconds] if microseconds < _SHORT_US else _part(microseconds)] += 1

    def recent(self, now: float) -> list[int]:
        """Return the counts of the last one to two minutes, or since the start, at ``now`` (monotonic seconds)."""
        marks = self._marks
        if now - marks[-1][0] >= _WINDOW_S:
            marks.append((now, self.counts.copy()))
            while len(marks) > 2 and now - marks[1][0] >= _WINDOW_S:
                marks.popleft()
        before = marks[0][1]
        return list(map(sub, self.counts, before)) if before else self.counts

    def longest(self, now: float) -> float:
        """Return the longest of these, in seconds; 0 if there are none."""
        recent = self.recent(now)
        return next((upper_us(part) / 1_000_000 for part in reversed(range(_PARTS)) if recent[part]), 0.0)


def _part(microseconds: int) -> int:
    shift = microseconds.bit_length() - 4
    part = microseconds if shift <= 0 else (shift << 3) + (microseconds >> shift)
    return min(part, _PARTS - 1)


def upper_us(part: int) -> int:
    """Return the upper bound of a bucket, in microseconds."""
    if part < 16:
        return part + 1
    shift = (part >> 3) - 1
    return ((part & 7) + 9) << shift


#: Buckets of the most common durations, precomputed.
_SHORT_US: Final = 2048
_PART_OF: Final = tuple(map(_part, range(_SHORT_US)))
#: Upper bound of each bucket.
_UPPER_US: Final = tuple(map(upper_us, range(_PARTS)))
#: The bucket that ends at each bound.
_LAST_WITHIN: Final = tuple(map(_UPPER_US.index, _BOUNDS_US))


def quantiles(counts: Iterable[int], parts: Iterable[float]) -> Iterator[float]:
    """Return the durations, in seconds, that these parts of all do not exceed: positive, at most 1.

    Raises ValueError without any counts.
    """
    seen = list(accumulate(counts))
    if not seen[-1]:
        raise ValueError("no durations were counted")
    return (_UPPER_US[bisect_left(seen, part * seen[-1])] / 1_000_000 for part in parts)


def within(counts: Iterable[int]) -> list[int]:
    """Return how many durations do not exceed each of ``BOUNDS_S``."""
    seen = list(accumulate(counts))
    return [seen[part] for part in _LAST_WITHIN]
