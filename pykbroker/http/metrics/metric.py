"""The definition of a metric: its name, its meaning, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """One metric of Prometheus' text format. ``moves`` is for operators: when to look, and at what."""

    name: str
    kind: str
    meaning: str
    labels: tuple[str, ...] = ()
    moves: str = ""


def gauge(name: str, meaning: str, *labels: str, moves: str) -> Metric:
    """What goes up and down."""
    return Metric(name, "gauge", meaning, labels, moves)


def counter(name: str, meaning: str, *labels: str, moves: str) -> Metric:
    """What only grows while the process runs."""
    return Metric(name, "counter", meaning, labels, moves)


def summary(name: str, meaning: str, *labels: str, moves: str) -> Metric:
    """How long things took: quantiles of the last one to two minutes, and sum and count since the start."""
    return Metric(name, "summary", meaning, labels, moves)


def histogram(name: str, meaning: str, *labels: str, moves: str) -> Metric:
    """How many took how long, since the start."""
    return Metric(name, "histogram", meaning, labels, moves)
