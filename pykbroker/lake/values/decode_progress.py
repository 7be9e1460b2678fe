"""The progress of a topic's decoding: after each batch, one file with the decoded and the quarantined rows of each partition. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pykbroker.lake.ledger import PartitionProgress
from pykbroker.lake.values.types import Columns

Numbers = Mapping[int, int]
"""A number for each partition."""


@dataclass(frozen=True, slots=True)
class Done:
    """One partition: every archived record from ``begin`` up to, not including, ``until`` is decoded (``rows``) or in the quarantine."""

    begin: int
    until: int
    rows: int = 0
    quarantined: int = 0


@dataclass(frozen=True, slots=True)
class DecodeAccount:
    """The state after batch ``batch``. ``columns`` are those of the table of decoded values."""

    batch: int = -1
    at: str = ""
    columns: Columns = field(default_factory=dict)
    partitions: dict[int, Done] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(each.rows for each in self.partitions.values())

    @property
    def quarantined(self) -> int:
        return sum(each.quarantined for each in self.partitions.values())

    def behind(self, archived: Mapping[int, PartitionProgress]) -> int:
        """The number of archived offsets of the topic that were not decoded yet."""
        starts = {number: done.until for number, done in self.partitions.items()}
        return sum(each.until - starts.get(number, each.begin) for number, each in archived.items())

    def after(self, plan: PlannedBatch, at: str, rows: Numbers, quarantined: Numbers) -> DecodeAccount:
        """The account after a batch. ``quarantined`` is added to the previous number, or replaces it if the batch decoded the quarantine again."""
        partitions = {}
        for number, (begin, until) in plan.ranges.items():
            before = self.partitions.get(number, Done(begin, begin))
            left = 0 if plan.again else before.quarantined
            partitions[number] = replace(
                before,
                until=until,
                rows=before.rows + rows.get(number, 0),
                quarantined=left + quarantined.get(number, 0),
            )
        return DecodeAccount(plan.batch, at, plan.columns, {**self.partitions, **partitions})

    def to_json(self) -> str:
        """The content of the account's file."""
        fields = asdict(self)
        fields["partitions"] = {str(number): asdict(each) for number, each in sorted(self.partitions.items())}
        return json.dumps(fields)

    @classmethod
    def from_json(cls, text: str) -> DecodeAccount:
        """The account that ``to_json`` wrote. Raises ValueError, LookupError or TypeError for anything else."""
        fields = json.loads(text)
        partitions = {int(number): Done(**each) for number, each in fields.pop("partitions").items()}
        return cls(partitions=partitions, **fields)


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """A batch, written to a file before it begins, so that it is the same if it must be repeated.

    ``ranges`` are archived offsets, and ``rows`` the numbers of rows that the archive counted in them. A batch that decodes the quarantine
    ``again`` has empty ranges and no counts.
    """

    batch: int
    columns: Columns
    ranges: dict[int, tuple[int, int]]
    rows: dict[int, int] = field(default_factory=dict)
    again: bool = False

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> PlannedBatch:
        """The plan that ``to_json`` wrote. Raises ValueError, LookupError or TypeError for anything else."""
        fields: dict[str, Any] = json.loads(text)
        ranges = {int(number): (begin, until) for number, (begin, until) in fields.pop("ranges").items()}
        rows = {int(number): count for number, count in fields.pop("rows").items()}
        return cls(ranges=ranges, rows=rows, **fields)
