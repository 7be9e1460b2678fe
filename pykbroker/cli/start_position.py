"""Where reading starts: the beginning, the end, a position in each partition, a time, or N records before the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pykbroker.cli.output import counted
from pykbroker.cli.positions import BEGINNING, OffsetPosition, PartitionPositions
from pykbroker.client.client import Client
from pykbroker.client.offsets import EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED, TopicPartition, list_offsets

_NAMED = 5


@dataclass(frozen=True)
class StartPosition:
    """The start that was chosen; the beginning by default. ``timestamp`` is in milliseconds since 1970."""

    option: str | None = None
    """The option that was given for it; None when nothing was chosen."""
    at_end: bool = False
    places: PartitionPositions | None = None
    timestamp: int | None = None
    last: int | None = None

    def positions(
        self, client: Client, partitions: Iterable[TopicPartition], tell: Callable[[str], None]
    ) -> dict[TopicPartition, int]:
        """Return the first offset to read in each partition; ``tell`` is called if one is not the offset asked for.

        Raises the KafkaError of a response.
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
                asked = [p for p, place in places.items() if place == OffsetPosition(None, offset)]
                for sentence in outside(offset, {p: beginning[p] for p in asked}, {p: ends[p] for p in asked}):
                    tell(sentence)
            offsets = {p: place.offset(beginning[p], ends[p]) for p, place in places.items()}
            return {p: min(max(offsets[p], beginning[p]), ends[p]) for p in partitions}
        return beginning


def outside(offset: int, beginning: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> Iterator[str]:
    """Yield a sentence for the partitions that end before ``offset`` and one for those that begin after it."""
    if short := {partition: end for partition, end in ends.items() if offset > end}:
        yield f"Offset {offset} is beyond the end of {named(short)}; reading begins at the end."
    if cut := {partition: first for partition, first in beginning.items() if offset < first}:
        yield f"Offset {offset} is before the beginning of {named(cut)}; reading begins at the beginning."


def named(offsets: Mapping[TopicPartition, int]) -> str:
    """Return partitions with their offsets as text, the first few by name."""
    named = [f"{partition} ({offset})" for partition, offset in sorted(offsets.items())]
    more = len(named) - _NAMED
    return ", ".join(named[:_NAMED]) + (f" and {counted(more, 'more partition')}" if more > 0 else "")


def end_offsets(
    client: Client, partitions: Iterable[TopicPartition], *, committed_only: bool = False
) -> dict[TopicPartition, int]:
    """Return the current end of each partition: the last stable offset with read_committed, else the high watermark.

    Raises the KafkaError of a response.
    """
    isolation = READ_COMMITTED if committed_only else READ_UNCOMMITTED
    return list_offsets(client, dict.fromkeys(partitions, LATEST), isolation=isolation)
