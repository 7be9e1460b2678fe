"""Where reading begins: the beginning, the end, a place in each partition, a time, or so many records before the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pykbroker.cli.client import Client
from pykbroker.cli.offsets import EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED, Partition, list_offsets
from pykbroker.cli.positions import BEGINNING, Places


@dataclass(frozen=True)
class Start:
    """The choice; the beginning when nothing is chosen. ``timestamp`` in milliseconds since 1970."""

    at_end: bool = False
    places: Places | None = None
    timestamp: int | None = None
    last: int | None = None

    def positions(self, client: Client, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """The first offset to read in each partition. Raises KafkaError."""
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
            offsets = {p: (self.places.place(p.number) or BEGINNING).offset(beginning[p], ends[p]) for p in partitions}
            return {p: min(max(offsets[p], beginning[p]), ends[p]) for p in partitions}
        return beginning


def end_offsets(
    client: Client, partitions: Iterable[Partition], *, committed_only: bool = False
) -> dict[Partition, int]:
    """The offset after the last record that may be read in each partition now. Raises KafkaError."""
    isolation = READ_COMMITTED if committed_only else READ_UNCOMMITTED
    return list_offsets(client, dict.fromkeys(partitions, LATEST), isolation=isolation)
