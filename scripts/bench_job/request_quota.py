"""How many requests a client of one percent request_percentage has answered in a second: pykbroker beside Apache Kafka, in a table of its own.

It asks for metadata over one connection, without a pause. Measured from when it was first told to wait.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from compat_tests.quotas.request_time import allow, answers
from scripts.bench_job.brokers import make_pair

_MEASURED_S: Final = 15.0
_PERCENT: Final = 1


class Pace(NamedTuple):
    """Answers in a second, and the part of the time for which the client was told to wait."""

    answers: float
    waited: float


def measure(rounds: int, folder: Path | None = None) -> dict[str, list[Pace]]:
    """By broker, Apache Kafka first."""
    found: dict[str, list[Pace]] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="pykbroker-bench-", dir=folder) as data:
            for broker in make_pair(Path(data)):
                broker.start()
                try:
                    allow(broker.bootstrap, "busy", _PERCENT)
                    found.setdefault(broker.name, []).append(_pace(broker.bootstrap))
                finally:
                    broker.stop()
    return found


def markdown(found: dict[str, list[Pace]]) -> str:
    """The table: medians."""
    lines = ["| broker | requests in a second | told to wait |", "|---|---:|---:|"]
    for name, paces in found.items():
        pace, waited = (statistics.median(each) for each in zip(*paces, strict=True))
        lines.append(f"| {name} | {pace:.0f} | {waited:.1%} of the time |")
    return "\n".join(lines)


def _pace(address: str) -> Pace:
    began = passed_s = 0.0
    count = told_ms = 0
    for each in answers(address, "busy"):
        if not began:  # what a client may use before it has used too much
            began = time.monotonic() if each.told_ms else 0.0
            continue
        count, told_ms, passed_s = count + 1, told_ms + each.before_ms, time.monotonic() - began
        if passed_s > _MEASURED_S:
            break
    return Pace(count / passed_s, told_ms / 1000 / passed_s)
