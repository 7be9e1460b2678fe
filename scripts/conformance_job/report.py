"""The report: one row per client and suite, pykbroker and Apache Kafka side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scripts.conformance_job.results import Result
from scripts.conformance_job.suites import Suite

#: Results by broker ("pykbroker", "kafka"), then by suite.
Results = Mapping[str, Mapping[str, Result]]

_HEAD = (
    "| client | suite (`compat_tests/`) | what | passed | failed | skipped | s | Apache Kafka: passed | failed | skipped |\n"
    "|---|---|---|---:|---:|---|---:|---:|---:|---|"
)


def markdown(suites: Sequence[Suite], results: Results) -> str:
    """The table, then the names of what failed. Suites without any result are left out."""
    ran = [suite for suite in suites if any(suite.name in of_broker for of_broker in results.values())]
    lines = [_HEAD, *(_row(suite, results) for suite in ran)]
    for broker in ("pykbroker", "kafka"):
        failed = [f"- {name}" for suite in ran if (result := results[broker].get(suite.name)) for name in result.failed]
        if failed:
            lines += ["", f"Failed against {broker}:", "", *failed]
    return "\n".join(lines) + "\n"


def as_json(suites: Sequence[Suite], results: Results) -> list[dict[str, Any]]:
    """Return a row for each suite, with all details."""
    return [
        {
            "client": suite.client,
            "suite": suite.name,
            "what": suite.what,
            "only_ours": suite.only_ours,
            **{broker: of[suite.name].as_json() if suite.name in of else None for broker, of in results.items()},
        }
        for suite in suites
    ]


def _row(suite: Suite, results: Results) -> str:
    ours, theirs = (results[broker].get(suite.name) for broker in ("pykbroker", "kafka"))
    cells = [suite.client, f"`{suite.name}`", suite.what, *_cells(ours), f"{ours.seconds:.0f}" if ours else ""]
    cells += _cells(theirs) if suite.only_ours is None else ["", "", suite.only_ours]
    return f"| {' | '.join(cells)} |"


def _cells(result: Result | None) -> list[str]:
    """Return passed, failed, skipped with reasons; ``not run`` without a result."""
    if result is None:
        return ["", "", "not run"]
    skipped = "; ".join(f"{count}: {reason}".replace("|", "\\|") for reason, count in result.reasons)
    return [str(result.passed), str(len(result.failed)), skipped or "0"]
