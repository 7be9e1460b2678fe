"""How far the decoding of a topic is: after each batch one file says of every partition what was decoded, and what was not. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pykbroker.lake.ledger import Progress
from pykbroker.lake.values.types import Columns

Numbers = Mapping[int, int]
"""Something of each partition."""


@dataclass(frozen=True, slots=True)
class Done:
    """One partition: every archived record from ``begin`` to before ``until`` is decoded (``rows``) or in the quarantine."""

    begin: int
    until: int
    rows: int = 0
    quarantined: int = 0


@dataclass(frozen=True, slots=True)
class Account:
    """What is known after batch ``batch``. ``columns`` are those that the table of decoded values has by now."""

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

    def behind(self, archived: Mapping[int, Progress]) -> int:
        """Archived offsets of the topic that the decoding has not looked at."""
        starts = {number: done.until for number, done in self.partitions.items()}
        return sum(each.until - starts.get(number, each.begin) for number, each in archived.items())

    def after(self, plan: Plan, at: str, rows: Numbers, quarantined: Numbers) -> Account:
        """The account after a batch that decoded ``rows``. What it quarantined is added, or, if it tried again, is what is left."""
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
        return Account(plan.batch, at, plan.columns, {**self.partitions, **partitions})

    def to_json(self) -> str:
        """As it is kept in its file."""
        fields = asdict(self)
        fields["partitions"] = {str(number): asdict(each) for number, each in sorted(self.partitions.items())}
        return json.dumps(fields)

    @classmethod
    def from_json(cls, text: str) -> Account:
        """The account that ``to_json`` wrote."""
        fields = json.loads(text)
        partitions = {int(number): Done(**each) for number, each in fields.pop("partitions").items()}
        return cls(partitions=partitions, **fields)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a batch is, written down before it is begun, so that it is the same when it must be begun again.

    ``ranges`` are of archived offsets, and ``rows`` what the archive counted in them. One that tries ``again`` what is in the
    quarantine has ranges that are empty, and counts nothing.
    """

    batch: int
    columns: Columns
    ranges: dict[int, tuple[int, int]]
    rows: dict[int, int] = field(default_factory=dict)
    again: bool = False

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that ``to_json`` wrote."""
        fields: dict[str, Any] = json.loads(text)
        ranges = {int(number): (begin, until) for number, (begin, until) in fields.pop("ranges").items()}
        rows = {int(number): count for number, count in fields.pop("rows").items()}
        return cls(ranges=ranges, rows=rows, **fields)
