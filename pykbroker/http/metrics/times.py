"""Durations as counts by bucket: cheap to record, for quantiles and for Prometheus' histograms.

A time falls into one of eight equal parts between two powers of two of a microsecond, so a quantile is known to an eighth
of itself. Up to fifteen microseconds every one has a part of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

#: Parts, of which the last takes whatever is longer: more than a day.
_PARTS: Final = 8 * 36
#: How old counts become before quantiles no longer look at them; at most twice that.
_WINDOW_S: Final = 60.0

#: As they are written in the label, which is how the JMX exporter writes Kafka's.
QUANTILES: Final = {"0.50": 0.5, "0.75": 0.75, "0.95": 0.95, "0.98": 0.98, "0.99": 0.99, "0.999": 0.999}
#: Upper bounds of Prometheus' buckets in seconds: where our parts end, so that nothing is guessed.
BOUNDS_S: Final = tuple(2**power / 1_000_000 for power in range(5, 25))


class Times:
    """Counts of one kind of time, since it was made."""

    __slots__ = ("_marks", "counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * _PARTS
        self.sum_s = 0.0
        #: The counts as they were at some earlier times, oldest first.
        self._marks: deque[tuple[float, list[int]]] = deque([(0.0, [])])

    @property
    def count(self) -> int:
        return sum(self.counts)

    def note(self, seconds: float) -> None:
        """One more."""
        self.sum_s += seconds
        microseconds = int(seconds * 1_000_000)
        self.counts[_PART_OF[microseconds] if microseconds < _SHORT_US else _part(microseconds)] += 1

    def recent(self, now: float) -> list[int]:
        """The counts of the last one to two minutes, or since the start, at ``now`` (monotonic seconds)."""
        marks = self._marks
        if now - marks[-1][0] >= _WINDOW_S:
            marks.append((now, self.counts.copy()))
            while len(marks) > 2 and now - marks[1][0] >= _WINDOW_S:
                marks.popleft()
        before = marks[0][1]
        return [after - earlier for after, earlier in zip(self.counts, before, strict=True)] if before else self.counts

    def longest(self, now: float) -> float:
        """The longest of these, in seconds; 0 where there are none."""
        recent = self.recent(now)
        return next((upper_us(part) / 1_000_000 for part in reversed(range(_PARTS)) if recent[part]), 0.0)


def _part(microseconds: int) -> int:
    shift = microseconds.bit_length() - 4
    part = microseconds if shift <= 0 else (shift << 3) + (microseconds >> shift)
    return min(part, _PARTS - 1)


def upper_us(part: int) -> int:
    """Where a part ends, in microseconds."""
    if part < 16:
        return part + 1
    shift = (part >> 3) - 1
    return ((part & 7) + 9) << shift


#: The parts of what most times are, known beforehand.
_SHORT_US: Final = 2048
_PART_OF: Final = tuple(map(_part, range(_SHORT_US)))
#: Where each part ends.
_UPPER_US: Final = tuple(map(upper_us, range(_PARTS)))


def quantile(counts: Sequence[int], part: float) -> float:
    """The time, in seconds, that such a part of all is not above. There must be any."""
    wanted = part * sum(counts)
    seen = 0
    for number, count in enumerate(counts):
        seen += count
        if count and seen >= wanted:
            return upper_us(number) / 1_000_000
    raise ValueError("there is nothing of which that could be a part")


def within(counts: Sequence[int], bounds_s: Sequence[float]) -> Iterator[int]:
    """How many took no longer than each of the bounds, which rise."""
    seen = number = 0
    for bound in bounds_s:
        bound_us = bound * 1_000_000
        while number < len(counts) and _UPPER_US[number] <= bound_us:
            seen += counts[number]
            number += 1
        yield seen
