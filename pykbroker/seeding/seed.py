"""A seed as values: topics and records, each with the place where it was written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from pykbroker.wire.records import Header

#: The path to a value from the top of a document: names and indexes.
Path = tuple[str | int, ...]


class SeedSource(Protocol):
    """What a seed was read from."""

    def place(self, path: Path) -> str:
        """Return the place of the value at a path, for error messages: ``orders.yaml:12:7``."""


class At(NamedTuple):
    """A place in a source; the line is computed when it is needed."""

    source: SeedSource
    path: Path

    def __str__(self) -> str:
        return self.source.place(self.path)


class Misfit(ValueError):
    """The value at ``path`` is invalid; ``why`` says what to write instead.

    ``mark`` is line and column, from 1, of a syntax error, for which there is no path.
    """

    def __init__(self, path: Path, why: str, mark: tuple[int, int] | None = None) -> None:
        super().__init__(why)
        self.path = path
        self.why = why
        self.mark = mark


class BadSeed(ValueError):
    """A seed cannot be imported; the text begins with the place, and says what to write instead."""

    def __init__(self, at: At | str, why: str) -> None:
        super().__init__(f"{at}: {why}")


@dataclass(slots=True)
class SeedTopic:
    """A topic to create; -1 is the broker's default."""

    name: str
    at: At
    partitions: int = -1
    replication_factor: int = -1
    configs: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class SeedSchema:
    """A version of a subject, for the schema registry of the brokers; references are name, subject and version of each."""

    subject: str
    at: At
    text: str
    type: str = "AVRO"
    references: list[tuple[str, str, int]] = field(default_factory=list)


@dataclass(slots=True)
class SeedRecord:
    """A record to append.

    Without ``partition``, the key decides; without ``timestamp``, it gets the time of the append. ``by_schema`` has what is to be written by
    the newest version of a subject: ``{"value": (subject, value)}``.
    """

    topic: str
    at: At
    key: bytes | None
    value: bytes | None
    headers: list[Header]
    partition: int | None = None
    timestamp: int | None = None
    by_schema: dict[str, tuple[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class Seed:
    """Topics, and records in the order of their appends. Those of schemas are among them, once they are read (``reading.py``)."""

    topics: list[SeedTopic] = field(default_factory=list)
    records: list[SeedRecord] = field(default_factory=list)
    schemas: list[SeedSchema] = field(default_factory=list)

    def add(self, other: Seed) -> None:
        """Append another seed to this one. Raises BadSeed if both describe a topic."""
        known = {topic.name: topic for topic in self.topics}
        for topic in other.topics:
            if topic.name in known:
                raise BadSeed(topic.at, f"topic {topic.name} is described at {known[topic.name].at} already")
        self.topics += other.topics
        self.records += other.records
        self.schemas += other.schemas
