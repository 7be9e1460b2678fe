"""Rates and latency percentiles of a measurement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

PERCENTILES = (50, 95, 99)


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Return the smallest value that ``percent`` of the values do not exceed. ``ordered`` is sorted and not empty."""
    return ordered[max(math.ceil(len(ordered) * percent / 100) - 1, 0)]


def summary(records: int, size: int, seconds: float, latencies_s: Sequence[float]) -> dict[str, Any]:
    """Return totals, rates per second, and latency percentiles in milliseconds."""
    ordered = sorted(latencies_s)
    found: dict[str, Any] = {
        "records": records,
        "bytes": size,
        "seconds": round(seconds, 3),
        "records_per_s": round(records / seconds, 1) if seconds else None,
        "bytes_per_s": round(size / seconds, 1) if seconds else None,
    }
    for percent in PERCENTILES:
        found[f"p{percent}_ms"] = round(percentile(ordered, percent) * 1000, 3) if ordered else None
    found["max_ms"] = round(ordered[-1] * 1000, 3) if ordered else None
    return found
