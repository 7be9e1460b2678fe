"""The definition of a metric: its name, its meaning, and what an operator does about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """A metric of Prometheus' text format. ``moves`` is for operators: when its value changes, and where to look then."""

    name: str
    kind: str
    meaning: str
    labels: tuple[str, ...] = ()
    moves: str = ""


def gauge(name: str, meaning: str, *labels: str, moves: str) -> Metric:
    """A value that goes up and down."""
    return Metric(name, "gauge", meaning, labels, moves)


def counter(name: str, meaning: str, *labels: str, moves: str) -> Metric:
    """A value that only grows while the process runs."""
    return Metric(name, "counter", meaning, labels, moves)


def summary(name: str, meaning: str, *labels: str, moves: str) -> Metric:
    """Durations: quantiles of the last one to two minutes; sum and count since the start."""
    return Metric(name, "summary", meaning, labels, moves)


def histogram(name: str, meaning: str, *labels: str, moves: str) -> Metric:
    """Durations by bucket, since the start."""
    return Metric(name, "histogram", meaning, labels, moves)
