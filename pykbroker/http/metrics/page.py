"""The page of one scrape: samples by metric, as lines of Prometheus' text format.

A sample is kept as the end of its line, labels and value; the metric's name is prepended to all its samples at once.
Ten thousand partitions are a hundred thousand lines, so each line has to be cheap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from pykbroker.http.metrics.metric import Metric
from pykbroker.http.metrics.times import BOUNDS_S, QUANTILES, Times, quantiles, within
from pykbroker.runtime.waits import Deferred

#: A collector's steps: clients are served after each one, and until the wait is over after one that yields a wait.
Steps = Iterator[Deferred[Any] | None]

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})
#: Lines that are joined, and released, in one step: releasing them takes as long as joining.
_JOINED_AT_ONCE = 250


def labels(names: Iterable[str], values: Iterable[object]) -> str:
    """Return ``{topic="orders",partition="0"}``; nothing without labels."""
    inner = ",".join([f'{name}="{str(value).translate(_ESCAPES)}"' for name, value in zip(names, values, strict=True)])
    return f"{{{inner}}}" if inner else ""


def _more(metric: Metric, values: Iterable[object]) -> str:
    """Return the beginning of a line's labels, to which one is added; built once for many lines."""
    here = labels(metric.labels, values)
    return f"{here[:-1]}," if here else "{"


def _together(counts: list[list[int]]) -> list[int]:
    """Return the sums, bucket by bucket. Most buckets are empty and cost nothing."""
    some = [each for each in counts if any(each)]
    if len(some) <= 1:
        return some[0] if some else counts[0]
    return [sum(column) for column in zip(*some, strict=True)]


class Page:
    """Filled by the collectors, then read once by ``chunks``."""

    def __init__(self) -> None:
        #: Metric to its lines without the name; those of summaries and histograms begin with the suffix of the name.
        self._lines: dict[Metric, list[str]] = {}

    def lines(self, metric: Metric) -> list[str]:
        """Return the lines of a metric, to append many without a call for each: ``labels(...)``, a blank and the value."""
        return self._lines.setdefault(metric, [])

    def add(self, metric: Metric, value: float, *values: object) -> None:
        """Add one sample, with the values of the metric's labels."""
        self.lines(metric).append(f"{labels(metric.labels, values)} {value}" if values else f" {value}")

    def add_times(self, metric: Metric, times: Sequence[Times], now: float, unit: float, *values: object) -> None:
        """Add the samples of a summary over several ``Times``; ``unit`` is the number of its units in a second."""
        lines = self.lines(metric)
        begin = _more(metric, values)
        recent = _together([each.recent(now) for each in times])
        if any(recent):
            for name, value in zip(QUANTILES, quantiles(recent, QUANTILES.values()), strict=True):
                lines.append(f'{begin}quantile="{name}"}} {value * unit:.6g}')
        here = labels(metric.labels, values)
        lines.append(f"_sum{here} {sum(each.sum_s for each in times) * unit:.9g}")
        lines.append(f"_count{here} {sum(each.count for each in times)}")

    def add_histogram(self, metric: Metric, times: Sequence[Times], *values: object) -> None:
        """Add the samples of a histogram in seconds over several ``Times``."""
        lines = self.lines(metric)
        counts = _together([each.counts for each in times])
        begin = _more(metric, values)
        for bound, count in zip(BOUNDS_S, within(counts), strict=True):
            lines.append(f'_bucket{begin}le="{bound}"}} {count}')
        here = labels(metric.labels, values)
        total = sum(counts)
        lines.append(f'_bucket{begin}le="+Inf"}} {total}')
        lines.append(f"_sum{here} {sum(each.sum_s for each in times):.9g}")
        lines.append(f"_count{here} {total}")

    def chunks(self) -> Iterator[bytes]:
        """Yield the page in pieces of some kilobytes.

        Lines are released as they are read, since releasing all at once would be a long turn.
        """
        texts: list[str] = []
        number = 0
        for metric, lines in self._lines.items():
            if lines:
                texts.append(_heading(metric.name, metric.kind, metric.meaning))
            between = f"\n{metric.name}"
            lines.reverse()  # a list is shortened fastest at its end
            while lines:
                some = lines[number - _JOINED_AT_ONCE :]
                del lines[number - _JOINED_AT_ONCE :]
                number += len(some)
                some.reverse()
                texts.append(f"{metric.name}{between.join(some)}\n")
                if number == _JOINED_AT_ONCE:
                    yield "".join(texts).encode()
                    texts.clear()
                    number = 0
        if texts:
            yield "".join(texts).encode()


@lru_cache(maxsize=512)
def _heading(name: str, kind: str, meaning: str) -> str:
    return f"# HELP {name} {meaning.translate(_HELP_ESCAPES)}\n# TYPE {name} {kind}\n"
