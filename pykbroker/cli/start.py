"""Where reading begins: the beginning, the end, a place in each partition, a time, or so many records before the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pykbroker.cli.client import Client
from pykbroker.cli.offsets import EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED, Partition, list_offsets
from pykbroker.cli.output import counted
from pykbroker.cli.positions import BEGINNING, Place, Places

_NAMED = 5


@dataclass(frozen=True)
class Start:
    """The choice; the beginning when nothing is chosen. ``timestamp`` in milliseconds since 1970."""

    option: str | None = None
    """The option that was given for it; None when nothing was chosen."""
    at_end: bool = False
    places: Places | None = None
    timestamp: int | None = None
    last: int | None = None

    def positions(
        self, client: Client, partitions: Iterable[Partition], tell: Callable[[str], None]
    ) -> dict[Partition, int]:
        """The first offset to read in each partition; ``tell`` hears where it is not the one asked. Raises the
        answer's KafkaError.
        """
        partitions = list(partitions)
        if self.at_end:
            return end_offsets(client, partitions)
        beginning = list_offsets(client, dict.fromkeys(partitions, EARLIEST))
        if self.timestamp is not None:
            found = list_offsets(client, dict.fromkeys(partitions, self.timestamp))
            ends = end_offsets(client, partitions)
            return {p: found[p] if found[p] >= 0 else ends[p] for p in partitions}
        if self.last is not None:
            ends = end_offsets(client, partitions)
            return {p: max(beginning[p], ends[p] - self.last) for p in partitions}
        if self.places is not None:
            ends = end_offsets(client, partitions)
            places = {p: self.places.place(p.number) or BEGINNING for p in partitions}
            for offset in sorted({place.distance for place in places.values() if place.anchor is None}):
                asked = [p for p, place in places.items() if place == Place(None, offset)]
                for sentence in outside(offset, {p: beginning[p] for p in asked}, {p: ends[p] for p in asked}):
                    tell(sentence)
            offsets = {p: place.offset(beginning[p], ends[p]) for p, place in places.items()}
            return {p: min(max(offsets[p], beginning[p]), ends[p]) for p in partitions}
        return beginning


def outside(offset: int, beginning: Mapping[Partition, int], ends: Mapping[Partition, int]) -> Iterator[str]:
    """A sentence each for the partitions that end before ``offset`` and for those that begin after it."""
    if short := {partition: end for partition, end in ends.items() if offset > end}:
        yield f"Offset {offset} is beyond the end of {named(short)}; reading begins at the end."
    if cut := {partition: first for partition, first in beginning.items() if offset < first}:
        yield f"Offset {offset} is before the beginning of {named(cut)}; reading begins at the beginning."


def named(offsets: Mapping[Partition, int]) -> str:
    """Partitions with their offsets, the first few by name."""
    named = [f"{partition} ({offset})" for partition, offset in sorted(offsets.items())]
    more = len(named) - _NAMED
    return ", ".join(named[:_NAMED]) + (f" and {counted(more, 'more partition')}" if more > 0 else "")


def end_offsets(
    client: Client, partitions: Iterable[Partition], *, committed_only: bool = False
) -> dict[Partition, int]:
    """The offset after the last record that may be read in each partition now. Raises the answer's KafkaError."""
    isolation = READ_COMMITTED if committed_only else READ_UNCOMMITTED
    return list_offsets(client, dict.fromkeys(partitions, LATEST), isolation=isolation)
