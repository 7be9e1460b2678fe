"""Starts of brokers that differ by an option, in turn."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from compat_tests.harness.ours import Pykbroker
from scripts.bench_job.brokers import timed_start


class Start(NamedTuple):
    """Seconds up to the first response, processor seconds, and megabytes right after it."""

    took_s: float
    used_s: float
    memory_mb: float


def starts(folder: Path, rounds: int, kinds: Mapping[str, type[Pykbroker]]) -> dict[str, Start]:
    """Medians of ``rounds`` starts of each kind, by name; one more before fills the page cache."""
    found: dict[str, list[Start]] = {name: [] for name in kinds}
    for number in range(rounds + 1):
        for name, kind in kinds.items():
            broker = kind(folder / f"{name}-{number}")
            try:
                took_s = timed_start(broker)
                found[name].append(Start(took_s, broker.cpu_seconds(), broker.memory_mb()))
            finally:
                broker.stop()
    return {name: Start(*map(statistics.median, zip(*each[1:], strict=True))) for name, each in found.items()}
