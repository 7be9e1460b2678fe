"""Spark's progress reports of one query, each batch counted once, however often it was retried."""

from __future__ import annotations

from typing import Any

from scripts.demo_job.data import epoch_ms

_NEVER = "1970-01-01T00:00:00Z"


class Progress:
    """The reports of one query so far. ``closing_ms`` is the time of the closing record, which is no flight."""

    def __init__(self, closing_ms: int) -> None:
        self._closing_ms = closing_ms
        self._reports: dict[int, dict[str, Any]] = {}

    def add(self, report: dict[str, Any]) -> None:
        self._reports[report["batchId"]] = report

    def knows(self, batch: int) -> bool:
        return batch in self._reports

    @property
    def newest(self) -> dict[str, Any] | None:
        return self._reports[max(self._reports)] if self._reports else None

    @property
    def flights_read(self) -> int:
        """Return the records read, without the closing one."""
        rows = sum(int(report["numInputRows"]) for report in self._reports.values())
        return rows - any(_event_time_ms(report, "max") >= self._closing_ms for report in self._reports.values())

    @property
    def rows_too_late(self) -> int:
        """Return the rows that came after their window was closed."""
        return sum(
            int(operator["numRowsDroppedByWatermark"])
            for report in self._reports.values()
            for operator in report["stateOperators"]
        )


def watermark_ms(report: dict[str, Any]) -> int:
    """Return a batch's watermark in epoch ms; 0 before there is one."""
    return _event_time_ms(report, "watermark")


def _event_time_ms(report: dict[str, Any], name: str) -> int:
    return epoch_ms(report.get("eventTime", {}).get(name, _NEVER))
