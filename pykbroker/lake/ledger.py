"""The ledger of an archive: after each batch, one file with the offsets that were read of each partition and the number of rows.

Pure: offsets and counts in, the next entry out. An entry includes its predecessors, so the last one is enough.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

Range = tuple[int, int]
"""Offsets from the first up to, not including, the second."""


MOST_RANGES = 100
"""The number of ranges of lost offsets that are kept for a partition: the longest."""


class LakePartition(NamedTuple):
    """A partition; as text, it has the name of its directory in Kafka."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


Offsets = Mapping[LakePartition, int]


class Lost(NamedTuple):
    """The number of a partition's offsets that expired before they were read, and the longest ranges of them, in order."""

    offsets: int
    ranges: tuple[Range, ...]

    def and_then(self, later: Lost) -> Lost:
        """The sum of two losses, with the longest ranges of both."""
        ranges = sorted([*self.ranges, *later.ranges], key=lambda each: each[0] - each[1])
        return Lost(self.offsets + later.offsets, tuple(sorted(ranges[:MOST_RANGES])))


NOTHING = Lost(0, ())


@dataclass(frozen=True, slots=True)
class PartitionProgress:
    """One partition: every offset from ``begin`` up to, not including, ``until`` was read or is among those ``lost``.

    There are fewer rows than offsets if there were transaction markers, aborted records or compaction.
    """

    begin: int
    until: int
    rows: int = 0
    lost: Lost = NOTHING


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """The state after batch ``batch``, which added ``rows`` at ``at`` (ISO 8601, UTC).

    ``ids`` are topic ids, by which a topic that was made anew is detected; brokers before Kafka 2.8 have none.
    """

    batch: int = -1
    at: str = ""
    rows: int = 0
    partitions: dict[LakePartition, PartitionProgress] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def total_rows(self) -> int:
        return sum(progress.rows for progress in self.partitions.values())

    def of_topic(self, topic: str) -> dict[int, PartitionProgress]:
        """The progress of each partition of a topic."""
        return {place.partition: each for place, each in self.partitions.items() if place.topic == topic}

    def chosen(self, topics: str) -> LedgerEntry:
        """The same entry with only the topics whose whole name matches the regular expression."""
        chosen = {place: each for place, each in self.partitions.items() if re.fullmatch(topics, place.topic)}
        return replace(self, partitions=chosen)

    def starts(self, ends: Offsets, initial: Offsets) -> dict[LakePartition, int]:
        """The start offsets of the next batch, which ends at ``ends``: the end of this one, else the stream's initial offset, else 0."""
        return {
            place: self.partitions[place].until if place in self.partitions else min(initial.get(place, 0), end)
            for place, end in ends.items()
        }

    def after(
        self, batch: int, at: str, ends: Offsets, initial: Offsets, rows: Offsets, lost: Mapping[LakePartition, Lost]
    ) -> LedgerEntry:
        """The entry after ``batch``, which read up to ``ends`` and added ``rows``; other partitions stay as they are."""
        partitions = dict(self.partitions)
        for place, start in self.starts(ends, initial).items():
            before = partitions.get(place, PartitionProgress(start, start))
            partitions[place] = replace(
                before,
                until=ends[place],
                rows=before.rows + rows.get(place, 0),
                lost=before.lost.and_then(lost.get(place, NOTHING)),
            )
        return LedgerEntry(batch, at, sum(rows.values()), partitions, self.ids)

    def with_ids(self, ids: Mapping[str, str]) -> LedgerEntry:
        """The same entry, with the ids of more topics."""
        return replace(self, ids={**self.ids, **ids})

    def to_json(self) -> str:
        """The content of the entry's file."""
        partitions = [
            {"topic": place.topic, "partition": place.partition, **asdict(progress), "lost": progress.lost._asdict()}
            for place, progress in sorted(self.partitions.items())
        ]
        fields = {"batch": self.batch, "at": self.at, "rows": self.rows, "partitions": partitions, "topics": self.ids}
        return json.dumps(fields)

    @classmethod
    def from_json(cls, text: str) -> LedgerEntry:
        """The entry that ``to_json`` wrote. Raises ValueError, LookupError or TypeError for anything else."""
        fields = json.loads(text)
        partitions = {
            LakePartition(item["topic"], item["partition"]): PartitionProgress(
                item["begin"],
                item["until"],
                item["rows"],
                Lost(item["lost"]["offsets"], _ranges(item["lost"]["ranges"])),
            )
            for item in fields["partitions"]
        }
        return cls(fields["batch"], fields["at"], fields["rows"], partitions, fields.get("topics", {}))


def _ranges(found: list[list[int]]) -> tuple[Range, ...]:
    return tuple((start, until) for start, until in found)


def offsets_of(text: str) -> dict[LakePartition, int]:
    """Offsets as Spark's Kafka source writes them: ``{"topic": {"0": 12}}``, after a version."""
    return flat(json.loads(text[text.index("{") :]))


def flat(offsets: Mapping[str, Mapping[str, int]]) -> dict[LakePartition, int]:
    return {LakePartition(topic, int(number)): end for topic, ends in offsets.items() for number, end in ends.items()}


def nested(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Offsets in the form of Spark's options startingOffsets and endingOffsets."""
    found: dict[str, dict[str, int]] = {}
    for place, offset in offsets.items():
        found.setdefault(place.topic, {})[str(place.partition)] = offset
    return found


def source_offsets(log: str) -> dict[LakePartition, int]:
    """The offsets in a file of a checkpoint's ``offsets/``: a version, metadata, then the line of the one source."""
    return offsets_of(log.splitlines()[2])


def expired(entry: LedgerEntry, earliest: Offsets) -> Iterator[tuple[LakePartition, Range]]:
    """The ranges that expired before the stream read them; ``earliest`` are the log start offsets."""
    for place, progress in sorted(entry.partitions.items()):
        if earliest.get(place, 0) > progress.until:
            yield place, (progress.until, earliest[place])


def recreated(entry: LedgerEntry, ends: Offsets, ids: Mapping[str, str]) -> dict[LakePartition, str]:
    """Partitions of topics that were deleted and made anew, and the evidence: the topic has another id or, if ids are unknown, the
    partition ends before the offsets that were read.
    """
    found = {}
    for place, progress in sorted(entry.partitions.items()):
        old, new = entry.ids.get(place.topic), ids.get(place.topic)
        if old and new and old != new:
            found[place] = f"archived from the topic of id {old}, and {place.topic} has the id {new} now"
        elif place in ends and ends[place] < progress.until:
            found[place] = f"archived up to offset {progress.until}, and it ends at {ends[place]} now"
    return found


def behind(entry: LedgerEntry, earliest: Offsets, ends: Offsets) -> int:
    """The number of offsets of these logs that were not read."""
    read = {place: progress.until for place, progress in entry.partitions.items()}
    return sum(max(end - max(read.get(place, 0), earliest.get(place, end)), 0) for place, end in ends.items())


def as_numbers(entry: LedgerEntry) -> list[dict[str, Any]]:
    """A row for each partition, for output."""
    return [
        {
            "topic": place.topic, "partition": place.partition, "begin": each.begin, "until": each.until,
            "rows": each.rows, "lost": each.lost.offsets,
        }
        for place, each in sorted(entry.partitions.items())
    ]  # fmt: skip
