"""The numbers of a topic's profile. Pure; their size does not depend on the number of records."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
#: Lower limits of the bins of lateness: the time from a record's timestamp to the latest one before it in its partition.
LATE_FROM_MS = (0, 1, SECOND_MS, 10 * SECOND_MS, MINUTE_MS, 10 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, DAY_MS, 7 * DAY_MS)
_STEPS_MS = (
    1, 10, 100, SECOND_MS, 5 * SECOND_MS, 15 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS,
    HOUR_MS, 3 * HOUR_MS, 6 * HOUR_MS, DAY_MS, 7 * DAY_MS, 28 * DAY_MS,
)  # fmt: skip
MOST_STEPS = 120


class PartitionStatistics(NamedTuple):
    """``missing`` is the number of offsets without a record between the first and the last: aborted, markers, or compacted."""

    partition: int
    records: int
    bytes: int
    first_offset: int
    last_offset: int
    missing: int


class Bin(NamedTuple):
    """A bin of a histogram: the number of records from ``start`` up to the next bin."""

    start: int
    records: int


class Key(NamedTuple):
    """A key; ``repeats`` is the number of records that repeat an earlier value of the key."""

    text: str
    records: int
    repeats: int


class KeysOfCount(NamedTuple):
    """The number of keys that have at least ``least`` and less than twice as many records each."""

    least: int
    keys: int
    records: int


class Pause(NamedTuple):
    """A time without newer records in a partition, from ``start_ms`` to ``end_ms``."""

    partition: int
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """One topic. Sizes are of uncompressed keys and values, in bytes; times are records' timestamps, in ms since 1970."""

    topic: str
    records: int
    bytes: int
    first_ms: int
    last_ms: int
    keys: int = 0
    without_key: int = 0
    tombstones: int = 0
    with_headers: int = 0
    repeats: int = 0
    lost: int = 0
    step_ms: int = HOUR_MS
    size_percentiles: dict[str, int] = field(default_factory=dict)
    late_percentiles: dict[str, int] = field(default_factory=dict)
    partitions: list[PartitionStatistics] = field(default_factory=list)
    volume: list[Bin] = field(default_factory=list)
    sizes: list[Bin] = field(default_factory=list)
    lateness: list[Bin] = field(default_factory=list)
    top_keys: list[Key] = field(default_factory=list)
    key_counts: list[KeysOfCount] = field(default_factory=list)
    pauses: list[Pause] = field(default_factory=list)

    @property
    def late(self) -> int:
        return sum(each.records for each in self.lateness if each.start)

    @property
    def missing(self) -> int:
        return sum(each.missing for each in self.partitions)

    def as_json(self) -> dict[str, Any]:
        """For the profile's JSON file."""
        named = {name: [each._asdict() for each in getattr(self, name)] for name in _LISTS}
        return {**asdict(self), **named}


_LISTS = ("partitions", "volume", "sizes", "lateness", "top_keys", "key_counts", "pauses")


def step_for(span_ms: int) -> int:
    """The width of a chart's bars for a span of time, in ms."""
    return next((step for step in _STEPS_MS if span_ms / step <= MOST_STEPS), -(-span_ms // MOST_STEPS))
