"""Decides which names a new column may have: the table formats have their own rules, and names are unique. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pykbroker.lake.description import Format

OWN = ("kafka_partition", "kafka_offset", "kafka_timestamp", "kafka_key", "kafka_headers", "kafka_tombstone")
DATE = "kafka_date"
_DELTA_REFUSES = set(" ,;{}()\n\t=")


class Naming:
    """Accepts new fields as columns while there is ``room``. To Spark, names that differ only by case are the same."""

    def __init__(self, table: Format, room: int) -> None:
        self._table = table
        self._room = room

    def taken(self, name: str, reserved: Mapping[str, Any]) -> bool:
        """Take a name for a column; False if the table cannot have it or has no room."""
        if self._room <= 0 or refusal(name, reserved, self._table) is not None:
            return False
        self._room -= 1
        return True


def refusal(name: str, reserved: Mapping[str, Any], table: Format) -> str | None:
    """The reason why a field cannot be a column; None if it can."""
    if not name or not name.isprintable():
        return "its name cannot be a column's"
    if table is Format.DELTA and _DELTA_REFUSES & set(name):
        return "Delta Lake refuses such a name"
    lower = name.lower()
    if lower in OWN or lower == DATE:
        return "a column of the record itself has this name"
    if any(lower == each.lower() for each in reserved):
        return "another column has this name, except for upper and lower case"
    return None
