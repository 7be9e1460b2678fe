"""The report of the year: the comparison with the files, and the table at the end."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession
from rich.box import SIMPLE_HEAD
from rich.table import Table

from scripts.demo_job.data import AIRPORTS, NEW_YORK, DemoError, Hours, Totals, epoch_ms, rows


def stored_hours(spark: SparkSession, path: str) -> Hours:
    """Return the windows in the Parquet files. Raises DemoError for a duplicate."""
    hours: Hours = {}
    for row in spark.read.parquet(path).collect():
        fields: dict[str, Any] = row.asDict()
        hour = int(fields.pop("hour").timestamp() * 1000)
        place = hour, fields.pop("origin")
        if place in hours:
            raise DemoError(f"{describe(place)} was written twice to Parquet")
        hours[place] = Totals(**fields)
    return hours


def differences(expected: Hours, found: Hours) -> list[str]:
    """Return a line for every window that is missing, unknown or different."""
    lines = []
    for place in sorted(expected.keys() | found.keys()):
        want, have = expected.get(place), found.get(place)
        if want != have:
            lines.append(f"{describe(place)}: the files give {want}, the job gave {have}")
    return lines


def describe(place: tuple[int, str]) -> str:
    return f"{place[1]} {datetime.fromtimestamp(place[0] / 1000, UTC):%Y-%m-%d %H:%M}Z"


def total(hours: Hours) -> Totals:
    """Return the sum over all hours and origins."""
    return sum(hours.values(), Totals())


def summary(hours: Hours) -> Table:
    """Return one row per airport and one for all, within 80 columns."""
    table = Table(
        title="Departures from New York, as streamed", title_style="bold", header_style="dim", box=SIMPLE_HEAD
    )
    table.add_column("airport", no_wrap=True)
    for heading in (
        "flights",
        "can-\ncelled",
        "minutes\nlate",
        "15 min\nlate",
        "worst hour,\nminutes late",
        "plane\nknown",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    for code, name in AIRPORTS.items():
        here = {place: totals for place, totals in hours.items() if place[1] == code}
        table.add_row(name, *_cells(here), end_section=code == "LGA")
    table.add_row("all", *_cells(hours), style="bold")
    return table


def _cells(hours: Hours) -> tuple[str, ...]:
    year = total(hours)
    busy = ((totals.mean_delay, hour) for (hour, _), totals in hours.items() if totals.departed >= 10)
    worst, when_ms = max(busy)
    when = datetime.fromtimestamp(when_ms / 1000, NEW_YORK)
    return (
        f"{year.flights:,}",
        f"{(year.flights - year.departed) / year.flights:.1%}",
        f"{year.mean_delay:.1f}",
        f"{year.late / year.departed:.1%}",
        f"{when.day} {when:%b %H}h: {worst:.0f}",
        f"{year.known_planes / year.flights:.1%}",
    )


def weather() -> dict[tuple[int, str], dict[str, str | None]]:
    """Return the hourly observations, by hour (epoch ms) and airport."""
    return {(epoch_ms(row["time_hour"] or ""), row["origin"] or ""): row for row in rows("weather")}
