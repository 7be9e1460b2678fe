"""How far an archive is, from the ledger and from Spark's reports: rows, rate, lag, time left. Pure."""

from __future__ import annotations

import json
from typing import Any

from pykbroker.lake.ledger import Entry, Offsets, behind, flat


class Sight:
    """What a person sees while the job runs. ``rows`` are those of this run, ``entry`` is what the lake has.

    Where logs begin and end is what was asked at the beginning; of the ends Spark tells more as it goes.
    """

    def __init__(self, entry: Entry, begins: Offsets | None = None, ends: Offsets | None = None) -> None:
        self.entry = entry
        self.rows = 0
        self.batches = 0
        self.rate = 0.0
        self._begins = dict(begins or {})
        self._ends = dict(ends or {})

    @property
    def lag(self) -> int:
        """Offsets that are there to be read."""
        return behind(self.entry, dict.fromkeys(self._ends, 0) | self._begins, self._ends)

    @property
    def finds_no_topic(self) -> bool:
        return not self._ends

    @property
    def batch(self) -> int:
        return self.entry.batch

    def took(self, entry: Entry) -> None:
        """A batch has been taken; one that the lake had is given again by a stream that was cut off before it knew."""
        if entry.batch > self.entry.batch:
            self.rows += entry.rows
            self.batches += 1
        self.entry = entry

    def seen(self, report: Any) -> Sight:
        """Takes Spark's last report of a batch, if there is one; returns itself."""
        if report is not None and report["sources"]:
            self._ends |= flat(_offsets(report["sources"][0]["latestOffset"]))  # none of a batch that was begun before
            if report["numInputRows"]:
                self.rate = float(report["processedRowsPerSecond"])
        return self

    @property
    def seconds_left(self) -> float | None:
        """None while no rate is known."""
        return self.lag / self.rate if self.rate else None

    def line(self) -> str:
        """As in ``1,200,000 rows, 85,000 rows/s, 300,000 behind, 4 s left``."""
        left = "" if self.seconds_left is None else f", {self.seconds_left:.0f} s left"
        return f"{self.rows:,} rows, {self.rate:,.0f} rows/s, {self.lag:,} behind{left}"


def _offsets(value: Any) -> dict[str, dict[str, int]]:
    """Reports hold offsets as JSON text or as an object, by the version of Spark, or "None"."""
    found = json.loads(value) if isinstance(value, str) and value != "None" else value
    return found if isinstance(found, dict) else {}
