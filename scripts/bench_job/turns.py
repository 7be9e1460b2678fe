"""The longest turns of pykbroker's event loop, by its own gauge: in a table of its own, since Apache Kafka has no loop."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from pathlib import Path

_LINE = re.compile(r"^(?P<case>.+?)\s+(?P<turn>[\d.]+) ms of\s+\d+ ms$", re.MULTILINE)
_HERE = Path(__file__).resolve().parents[2]

Turns = dict[str, float]


def measure(rounds: int, before: Path | None) -> list[list[Turns]]:
    """Return the longest turns in milliseconds by case and round: of ``before`` if given, then of this checkout."""
    checkouts = [_HERE] if before is None else [before.resolve(), _HERE]
    taken: list[list[Turns]] = [[] for _ in checkouts]
    for _ in range(rounds):
        for rounds_of_one, checkout in zip(taken, checkouts, strict=True):
            rounds_of_one.append(_measure(checkout))
    return taken


def markdown(taken: list[list[Turns]]) -> str:
    """Return the table of medians."""
    heads = ["pykbroker"] if len(taken) == 1 else ["before", "pykbroker"]
    lines = [f"| longest turn of the loop | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for case in taken[-1][0]:
        cells = (_median([turns.get(case) for turns in rounds]) for rounds in taken)
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _median(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):.1f} ms" if known else ""


def _measure(checkout: Path) -> Turns:
    if not (checkout / "scripts" / "longest_turns.py").exists():
        return {}  # a checkout older than the gauge
    told = subprocess.run(
        [sys.executable, "-m", "scripts.longest_turns"],
        cwd=checkout,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return {found["case"]: float(found["turn"]) for found in _LINE.finditer(told.stdout)}
