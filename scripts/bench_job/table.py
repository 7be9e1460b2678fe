"""The result as a Markdown table."""

from __future__ import annotations

from scripts.bench_job.readings import Comparison

_HEAD = (
    "| | {other} | pykbroker | ratio | pair by pair | CPU s {other} | CPU s pykbroker |",
    "|---|---:|---:|---:|---:|---:|---:|",
)


def markdown(comparisons: list[Comparison], other: str = "Apache Kafka") -> str:
    """Return medians of all rounds.

    The ratio is pykbroker's cost (time, CPU, memory) over the other's: below 1, it needs less.
    """
    head = "\n".join(_HEAD).format(other=other)
    return "\n".join([head, *(_line(comparison) for comparison in comparisons)])


def _line(comparison: Comparison) -> str:
    cells = [
        comparison.row,
        comparison.kafka,
        comparison.ours,
        f"{comparison.ratio:.2f}",
        f"{min(comparison.ratios):.2f} to {max(comparison.ratios):.2f}",
        _cpu(comparison.kafka_cpu_s),
        _cpu(comparison.ours_cpu_s),
    ]
    return f"| {' | '.join(cells)} |"


def _cpu(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.2f}"
