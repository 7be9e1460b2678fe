"""The progress of an archive, from the ledger and Spark's reports: rows, rate, lag, time left. Pure."""

from __future__ import annotations

import ast
import json
from contextlib import suppress
from typing import Any

from pykbroker.lake.ledger import LedgerEntry, Offsets, behind, flat


class ArchiveProgress:
    """The progress that is shown while the job runs. ``rows`` counts this run's; ``entry`` is the lake's state.

    The beginnings and ends of logs are those at the start of the job; Spark's reports update the ends.
    """

    def __init__(self, entry: LedgerEntry, begins: Offsets | None = None, ends: Offsets | None = None) -> None:
        self.entry = entry
        self.rows = 0
        self.batches = 0
        self.rate = 0.0
        self._begins = dict(begins or {})
        self._ends = dict(ends or {})

    @property
    def lag(self) -> int:
        """The number of offsets that can be read now."""
        return behind(self.entry, dict.fromkeys(self._ends, 0) | self._begins, self._ends)

    @property
    def finds_no_topic(self) -> bool:
        return not self._ends

    @property
    def batch(self) -> int:
        return self.entry.batch

    def took(self, entry: LedgerEntry) -> None:
        """A batch was added. One that the lake has already is not counted: a stream that was killed repeats it."""
        if entry.batch > self.entry.batch:
            self.rows += entry.rows
            self.batches += 1
        self.entry = entry

    def seen(self, report: Any) -> ArchiveProgress:
        """Take Spark's last report of a batch, if there is one; returns itself."""
        if report is not None and report["sources"]:
            self._ends |= flat(_offsets(report["sources"][0]["latestOffset"]))  # absent for a repeated batch
            if report["numInputRows"]:
                self.rate = float(report["processedRowsPerSecond"])
        return self

    @property
    def seconds_left(self) -> float | None:
        """None before the first batch."""
        return self.lag / self.rate if self.rate else None

    def line(self) -> str:
        """For example ``1,200,000 rows, 85,000 rows/s, 300,000 behind, 4 s left``; rows are counted at the end of their batch."""
        if not self.batches and self.lag:
            return f"the first batch is being read, {self.lag:,} behind"
        left = "" if self.seconds_left is None else f", {self.seconds_left:.0f} s left"
        return f"{self.rows:,} rows, {self.rate:,.0f} rows/s, {self.lag:,} behind{left}"


def _offsets(value: Any) -> dict[str, dict[str, int]]:
    """Depending on Spark's version, reports have offsets as JSON text, as an object, as Python shows one (from 4.0.1 on) or as "None"."""
    found = value
    if isinstance(value, str):
        try:
            found = json.loads(value)
        except ValueError:
            with suppress(ValueError, SyntaxError):
                found = ast.literal_eval(value)
    return found if isinstance(found, dict) else {}
