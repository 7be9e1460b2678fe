"""All metrics, and the tables of docs/metrics.md: ``python -m pykbroker.http.metrics.catalogue``."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Final

from pykbroker.http.metrics import (
    brokers,
    certificates,
    client_metrics,
    connections,
    groups,
    partitions,
    process,
    quotas,
    requests,
    sharing,
    storage,
    transactions,
)
from pykbroker.http.metrics.metric import Metric

_SUBJECTS: Final = {
    "Requests": requests,
    "Connections": connections,
    "Certificates": certificates,
    "Quotas and limits": quotas,
    "Brokers and the controller": brokers,
    "Partitions": partitions,
    "Groups": groups,
    "Share groups": sharing,
    "Transactions": transactions,
    "Log directories and compaction": storage,
    "Client telemetry": client_metrics,
    "Process": process,
}


def metrics_of(module: ModuleType) -> list[Metric]:
    """Return the metrics that a module declares, in its order."""
    found: list[Metric] = []
    for value in vars(module).values():
        if isinstance(value, Metric):
            found.append(value)
        elif isinstance(value, tuple):
            found += [each for each in value if isinstance(each, Metric) and each not in found]
    return found


def everything() -> dict[str, list[Metric]]:
    """Return subject to metrics."""
    return {subject: metrics_of(module) for subject, module in _SUBJECTS.items()}


def table() -> str:
    """Return the tables of docs/metrics.md."""
    lines: list[str] = []
    for subject, metrics in everything().items():
        lines += [f"### {subject}", "", "| metric | labels | what it says | when it moves |", "|---|---|---|---|"]
        for each in metrics:
            cells = (f"`{each.name}` ({each.kind})", ", ".join(each.labels), each.meaning, each.moves)
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table())
