"""What a profile says of a topic, as numbers. Pure: nothing here grows with the records."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
#: A record is so late, behind the latest timestamp that stands before it in its partition, or later, up to the next.
LATE_FROM_MS = (0, 1, SECOND_MS, 10 * SECOND_MS, MINUTE_MS, 10 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, DAY_MS, 7 * DAY_MS)
_STEPS_MS = (
    1, 10, 100, SECOND_MS, 5 * SECOND_MS, 15 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS,
    HOUR_MS, 3 * HOUR_MS, 6 * HOUR_MS, DAY_MS, 7 * DAY_MS, 28 * DAY_MS,
)  # fmt: skip
MOST_STEPS = 120


class Partition(NamedTuple):
    """``missing`` offsets lie between those that are there: aborted, markers, or compacted away."""

    partition: int
    records: int
    bytes: int
    first_offset: int
    last_offset: int
    missing: int


class Bin(NamedTuple):
    """So many records from ``start`` on, to where the next begins."""

    start: int
    records: int


class Key(NamedTuple):
    """``repeats`` are records whose value the key had before."""

    text: str
    records: int
    repeats: int


class KeysOfCount(NamedTuple):
    """So many keys have from ``least`` to less than twice as many records each."""

    least: int
    keys: int
    records: int


class Pause(NamedTuple):
    """No record of a partition is newer than ``start_ms`` until one of ``end_ms``."""

    partition: int
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """One topic. Sizes are of keys and values as they were produced; times are of the records, in ms since 1970."""

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
    partitions: list[Partition] = field(default_factory=list)
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
    """The width of a bar by which a span of time becomes a chart."""
    return next((step for step in _STEPS_MS if span_ms / step <= MOST_STEPS), -(-span_ms // MOST_STEPS))
