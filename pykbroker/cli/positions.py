"""Positions in partitions as users write them: 100, -10, end-10, beginning+5, or by partition: 0:100,1:end-5."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pykbroker.client.errors import UsageError

_PLACE = re.compile(r"(?P<anchor>beginning|start|end)?(?P<distance>[+-]?\d+)?")
HELP = "100, -10 (or end-10), beginning+5; 0:100,1:end-5 for each partition"


@dataclass(frozen=True)
class OffsetPosition:
    """``distance`` records from an anchor: offset 0, or a partition's "beginning" or "end"."""

    anchor: str | None
    distance: int

    def offset(self, beginning: int, end: int) -> int:
        """Return the offset for these log bounds; it may lie outside of them, but is not negative."""
        base = {None: 0, "beginning": beginning, "end": end}[self.anchor]
        return max(base + self.distance, 0)


BEGINNING = OffsetPosition("beginning", 0)


@dataclass(frozen=True)
class PartitionPositions:
    """Positions by partition number, and one for all other partitions."""

    own: Mapping[int, OffsetPosition]
    others: OffsetPosition | None

    def place(self, partition: int) -> OffsetPosition | None:
        return self.own.get(partition, self.others)

    def check(self, partitions: Iterable[int]) -> None:
        """Raises UsageError for a position in a partition that does not exist."""
        if unknown := self.own.keys() - set(partitions):
            raise UsageError(f"There is no partition {', '.join(map(str, sorted(unknown)))}.")


def parse_places(text: str) -> PartitionPositions:
    """Parse ``PLACE``, or ``PARTITION:PLACE`` several times with commas between. Raises UsageError."""
    own: dict[int, OffsetPosition] = {}
    others = None
    for part in text.split(","):
        number, separator, place = part.strip().rpartition(":")
        if not separator:
            if others is not None:
                raise UsageError(f"{text!r} gives two places for the same partitions.")
            others = _parse_place(place)
        elif not number.isdecimal():
            raise UsageError(f"{number!r} is not the number of a partition; write it as 0:100 or 1:end-5.")
        elif int(number) in own:
            raise UsageError(f"{text!r} gives two places for partition {number}.")
        else:
            own[int(number)] = _parse_place(place)
    return PartitionPositions(own, others)


def _parse_place(text: str) -> OffsetPosition:
    found = _PLACE.fullmatch(text)
    if not text or found is None:
        raise UsageError(f"{text!r} is not a place in a partition; there are {HELP}.")
    anchor, distance = found["anchor"], found["distance"]
    if anchor is None:
        return OffsetPosition("end" if distance.startswith("-") else None, int(distance))
    if distance is not None and distance[0] not in "+-":
        raise UsageError(f"{text!r} is not a place in a partition; write {anchor}+{distance} or {anchor}-{distance}.")
    return OffsetPosition("end" if anchor == "end" else "beginning", int(distance or 0))
