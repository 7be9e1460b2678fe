"""The measurements of a load, and how they are compared."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """One number of one broker. ``cost`` is better when lower; ``show`` prints the number in its usual unit."""

    row: str
    cost: float
    show: Callable[[float], str]
    cpu_s: float | None = None


@dataclass(frozen=True)
class Comparison:
    """All rounds of one row: medians of both brokers, and the ratio ours/Kafka's of each round's pair."""

    row: str
    kafka: str
    ours: str
    ratios: list[float]
    kafka_cpu_s: float | None
    ours_cpu_s: float | None

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)


def compare(pairs: list[tuple[Reading, Reading]]) -> Comparison:
    """Compare one row over its rounds; a pair is (Kafka's reading, ours) of the same round."""
    kafka, ours = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    show = kafka[0].show
    return Comparison(
        row=kafka[0].row,
        kafka=show(statistics.median(reading.cost for reading in kafka)),
        ours=show(statistics.median(reading.cost for reading in ours)),
        ratios=[mine.cost / theirs.cost for theirs, mine in pairs],
        kafka_cpu_s=_median_cpu(kafka),
        ours_cpu_s=_median_cpu(ours),
    )


def _median_cpu(readings: list[Reading]) -> float | None:
    seconds = [reading.cpu_s for reading in readings if reading.cpu_s is not None]
    return statistics.median(seconds) if seconds else None


def records_per_s(seconds_per_record: float) -> str:
    return f"{1 / seconds_per_record:,.0f} records/s"


def milliseconds(value: float) -> str:
    return f"{value:,.2f} ms"


def microseconds(value: float) -> str:
    return f"{value:,.0f} µs"


def seconds(value: float) -> str:
    return f"{value:.2f} s"


def megabytes(value: float) -> str:
    return f"{value:,.0f} MB"


def per_second(seconds_each: float) -> str:
    return f"{1 / seconds_each:,.0f}/s"


def megabytes_per_second(seconds_per_megabyte: float) -> str:
    return f"{1 / seconds_per_megabyte:,.0f} MB/s"


def kilobytes(value: float) -> str:
    return f"{value:,.1f} KB"
