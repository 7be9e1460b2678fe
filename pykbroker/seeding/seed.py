"""What is put into a cluster: topics and records as values, each knowing where it was written down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from pykbroker.wire.records import Header

#: The way to a value from the top of what was written: names and positions.
Path = tuple[str | int, ...]


class Source(Protocol):
    """Whatever a seed was read from."""

    def place(self, path: Path) -> str:
        """Where the value at a path stands, for people: ``orders.yaml:12:7``."""


class At(NamedTuple):
    """A place in a source. The line is looked up when it is asked for."""

    source: Source
    path: Path

    def __str__(self) -> str:
        return self.source.place(self.path)


class Misfit(ValueError):
    """What stands at ``path`` cannot be meant; ``why`` says what to write instead. ``mark`` is the line and the column, from 1
    on, where the text itself is broken and no path leads.
    """

    def __init__(self, path: Path, why: str, mark: tuple[int, int] | None = None) -> None:
        super().__init__(why)
        self.path = path
        self.why = why
        self.mark = mark


class BadSeed(ValueError):
    """A seed that cannot be put into a cluster; the text begins with the place, and says what to write instead."""

    def __init__(self, at: At | str, why: str) -> None:
        super().__init__(f"{at}: {why}")


@dataclass(slots=True)
class Topic:
    """A topic to create; -1 stands for the broker's default."""

    name: str
    at: At
    partitions: int = -1
    replication_factor: int = -1
    configs: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Record:
    """A record to append. Without ``partition`` its key decides, without ``timestamp`` it is new when it is appended."""

    topic: str
    at: At
    key: bytes | None
    value: bytes | None
    headers: list[Header]
    partition: int | None = None
    timestamp: int | None = None


@dataclass(slots=True)
class Seed:
    """Topics, and records in the order in which they are appended."""

    topics: list[Topic] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def add(self, other: Seed) -> None:
        """Put another one behind this. Raises BadSeed where both describe a topic."""
        known = {topic.name: topic for topic in self.topics}
        for topic in other.topics:
            if topic.name in known:
                raise BadSeed(topic.at, f"topic {topic.name} is described at {known[topic.name].at} already")
        self.topics += other.topics
        self.records += other.records
