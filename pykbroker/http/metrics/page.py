"""The page of one scrape: samples by metric, as lines of Prometheus' text format.

A sample is kept as the end of its line, labels and value; the name goes before all of a metric's at once. Ten thousand
partitions are a hundred thousand lines, so a line has to cost little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pykbroker.http.metrics.metric import Metric
from pykbroker.http.metrics.times import BOUNDS_S, QUANTILES, Times, quantile, within
from pykbroker.runtime.waits import Deferred

#: A collector's work: after each step clients may be served, and after one that is a wait they are, until that is done.
Steps = Iterator[Deferred[Any] | None]

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})
#: So many lines are joined in one step, and let go of: that alone takes as long again.
_JOINED_AT_ONCE = 500


def labels(names: Iterable[str], values: Iterable[object]) -> str:
    """``{topic="orders",partition="0"}``; nothing for no labels."""
    inner = ",".join(f'{name}="{str(value).translate(_ESCAPES)}"' for name, value in zip(names, values, strict=True))
    return f"{{{inner}}}" if inner else ""


def _more(metric: Metric, values: Iterable[object]) -> str:
    """The beginning of labels to which one is added; made once for many lines."""
    here = labels(metric.labels, values)
    return f"{here[:-1]}," if here else "{"


def _together(counts: list[list[int]]) -> list[int]:
    """The sums, part by part. Most are of what never was, and cost nothing."""
    some = [each for each in counts if any(each)]
    if len(some) <= 1:
        return some[0] if some else counts[0]
    return [sum(column) for column in zip(*some, strict=True)]


class Page:
    """Filled by the collectors, then read once by ``chunks``."""

    def __init__(self) -> None:
        #: Metric to what stands behind its name: of a summary and a histogram with the end of the name before the labels.
        self._lines: dict[Metric, list[str]] = {}

    def lines(self, metric: Metric) -> list[str]:
        """Where many samples of a metric are added without a call for each: ``labels(...)``, a blank and the value."""
        return self._lines.setdefault(metric, [])

    def add(self, metric: Metric, value: float, *values: object) -> None:
        """One sample, with the values of the metric's labels."""
        self.lines(metric).append(f"{labels(metric.labels, values)} {value}")

    def add_times(self, metric: Metric, times: Sequence[Times], now: float, unit: float, *values: object) -> None:
        """The samples of a summary, of several ``Times`` together; ``unit`` is how many of its units a second has."""
        lines = self.lines(metric)
        begin = _more(metric, values)
        recent = _together([each.recent(now) for each in times])
        for name, part in QUANTILES.items() if any(recent) else ():
            lines.append(f'{begin}quantile="{name}"}} {quantile(recent, part) * unit:.6g}')
        here = labels(metric.labels, values)
        lines.append(f"_sum{here} {sum(each.sum_s for each in times) * unit:.9g}")
        lines.append(f"_count{here} {sum(each.count for each in times)}")

    def add_histogram(self, metric: Metric, times: Sequence[Times], *values: object) -> None:
        """The samples of a histogram of seconds, of several ``Times`` together."""
        lines = self.lines(metric)
        counts = _together([each.counts for each in times])
        begin = _more(metric, values)
        for bound, count in zip(BOUNDS_S, within(counts, BOUNDS_S), strict=True):
            lines.append(f'_bucket{begin}le="{bound}"}} {count}')
        here = labels(metric.labels, values)
        total = sum(counts)
        lines.append(f'_bucket{begin}le="+Inf"}} {total}')
        lines.append(f"_sum{here} {sum(each.sum_s for each in times):.9g}")
        lines.append(f"_count{here} {total}")

    def chunks(self) -> Iterator[bytes]:
        """The page, in pieces of some tens of kilobytes. What was told is let go of: all at once at the end would be a long turn."""
        for metric, lines in self._lines.items():
            if lines:
                meaning = metric.meaning.translate(_HELP_ESCAPES)
                yield f"# HELP {metric.name} {meaning}\n# TYPE {metric.name} {metric.kind}\n".encode()
            between = f"\n{metric.name}"
            lines.reverse()  # a list is shortened soonest at its end
            while lines:
                some = lines[-_JOINED_AT_ONCE:]
                del lines[-_JOINED_AT_ONCE:]
                some.reverse()
                yield f"{metric.name}{between.join(some)}\n".encode()
