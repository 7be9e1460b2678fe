"""Makes Spark's checkpoint anew from the ledger where one of its files, or the ledger's last entry, is torn: the machine died, or its disk
was full.

The ledger says what was archived, except for a batch that was being added. The table says whether it has that one: the batch is added once
more without rows, which a table that has it ignores. Its rows then say where it ended. So no row is lost and none is doubled.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import functions as f

from pykbroker.lake import ledger
from pykbroker.lake.errors import LakeError
from pykbroker.lake.lake import CHECKPOINT, Lake
from pykbroker.lake.ledger import LakePartition, LedgerEntry, Offsets
from pykbroker.lake.ledger_files import LEDGER
from pykbroker.lake.tables.table import RECORDS

DAMAGED = f"{CHECKPOINT}.damaged"
_MOST_TORN = 3

Ids = Callable[[Collection[str]], dict[str, str]]


class CheckpointRepair:
    """Looks at the ledger and the checkpoint of a lake that no job writes to.

    ``ids`` returns topic ids; ``begins`` the log start offsets of the topics that are archived, for a lake whose first batch was not
    complete.
    """

    def __init__(self, lake: Lake, ids: Ids, begins: Callable[[], Offsets]) -> None:
        self.lake = lake
        self.folder = lake.folder
        self._ids = ids
        self._begins = begins

    def run(self) -> str:
        """Make anew what is damaged; returns a sentence about it, or an empty one. Raises LakeError if the ledger is gone."""
        last, torn = self._last_entry()
        offsets, commits = self._numbers("offsets"), self._numbers("commits")
        self._check_ledger(last, torn, offsets, commits)
        faults = [f"{LEDGER}/{batch:012d}.json is damaged" for batch in torn]
        faults += self._faults(last, offsets, commits)
        if not faults:
            return ""
        left_out = self._left_out(last)
        for batch in range(last.batch + 1, max([last.batch, *torn, *offsets]) + 2):
            last = self._closed(last, batch)
            self.lake.write_entry(last)
        self._rewrite(last, left_out)
        return (
            f"Damaged: {', '.join(faults)}. The ledger and the table say what was archived, and the checkpoint was made anew from them, up to "
            f"batch {last.batch}. The old one is in {self.folder.at(DAMAGED)}."
        )

    # What is damaged

    def _last_entry(self) -> tuple[LedgerEntry, list[int]]:
        """The last entry that is whole, and the later ones that are not."""
        torn: list[int] = []
        for batch in reversed(self.lake.batches()):
            try:
                return self.lake.entry(batch), torn
            except LakeError:
                torn.append(batch)
                if len(torn) > _MOST_TORN:
                    raise
        return LedgerEntry(), torn

    def _check_ledger(self, last: LedgerEntry, torn: list[int], offsets: list[int], commits: list[int]) -> None:
        """Refuse a ledger that was deleted: batches would be counted from 0 again, and be mistaken for those in the table."""
        known = max([last.batch, *torn])
        deleted = known < 0 and self.folder.exists(RECORDS) and 0 not in offsets
        if deleted or max(commits, default=-1) > known or max(offsets, default=-1) > known + 1:
            raise LakeError(
                f"The lake has records, and {self.folder.at(LEDGER)} has no entry of the last batch: it was deleted. Put it back, or archive to "
                "a folder of its own."
            )

    def _faults(self, last: LedgerEntry, offsets: list[int], commits: list[int]) -> list[str]:
        """What Spark would stumble over: it reads the last two files of offsets and the last of commits, and does not say which is damaged."""
        found = [
            f"{CHECKPOINT}/{name} is damaged"
            for name, parse in (("metadata", lambda text: json.loads(text)["id"]), ("sources/0/0", ledger.offsets_of))
            if self._parsed(name, parse, gone={}) is None
        ]
        newest = max([last.batch, *offsets])
        for number in range(max(newest - 1, 0), newest + 1):
            name = f"offsets/{number}"
            ends = self._parsed(name, ledger.source_offsets)
            if ends is None:
                found.append(f"{CHECKPOINT}/{name} is {'damaged' if number in offsets else 'gone'}")
            elif number == last.batch and not _agree(last, ends):
                found.append(f"{CHECKPOINT}/{name} is of another lake")
        for number in commits[-1:]:
            name = f"commits/{number}"
            if self._parsed(name, lambda text: json.loads(text.splitlines()[1])) is None:
                found += [f"{CHECKPOINT}/{name} is damaged"]
        return found

    def _numbers(self, name: str) -> list[int]:
        return sorted(int(each) for each in self.folder.names(f"{CHECKPOINT}/{name}") if each.isdecimal())

    def _parsed(self, name: str, parse: Callable[[str], Any], gone: Any = None) -> Any:
        """The content of a file of the checkpoint; None if it is damaged, ``gone`` if it is not there."""
        try:
            text = self.folder.read(f"{CHECKPOINT}/{name}")
            return gone if text is None else parse(text)
        except (LakeError, ValueError, LookupError, TypeError, AttributeError):
            return None

    def _left_out(self, last: LedgerEntry) -> set[LakePartition]:
        """Partitions of the lake that the stream no longer reads, as where their topic was deleted and this was accepted."""
        for batch in (last.batch, last.batch - 1):
            ends = self._parsed(f"offsets/{batch}", ledger.source_offsets)
            if ends and any(place in last.partitions for place in ends):
                return last.partitions.keys() - ends.keys()
        return set()

    # What is made anew

    def _closed(self, before: LedgerEntry, batch: int) -> LedgerEntry:
        """The entry of a batch, from the rows that the table has of it; the batch stays without rows if it was not added."""
        taken = self.lake.table.append(self.lake.table.empty(), batch)
        counted = taken.groupBy("topic", "partition").agg(f.min("offset"), f.max("offset"), f.count("*")).collect()
        begins = {LakePartition(*row[:2]): row[2] for row in counted}
        ends = {LakePartition(*row[:2]): row[3] + 1 for row in counted}
        rows = {LakePartition(*row[:2]): row[4] for row in counted}
        if counted:  # the batch was added, so it ended where it was to end, behind the last row: there may be markers
            planned = self._parsed(f"offsets/{batch}", ledger.source_offsets) or {}
            ends |= {place: end for place, end in planned.items() if end > ends.get(place, 0)}
        if before.batch < 0:
            logs = self._begins()
            begins, ends = {**logs, **begins}, {**logs, **ends}
        ids = self._ids({place.topic for place in ends})
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return before.with_ids(ids).after(batch, now, ends, begins, rows, {})

    def _rewrite(self, last: LedgerEntry, left_out: set[LakePartition]) -> None:
        """Write the files from which Spark starts the batch after ``last``. It starts no earlier than the last of them is there."""
        self.folder.delete(DAMAGED)
        if self.folder.exists(CHECKPOINT):
            self.folder.move(CHECKPOINT, DAMAGED)
        self._write("metadata", json.dumps({"id": str(uuid.uuid4())}))
        for entry in (self.lake.entry(last.batch - 1), last) if last.batch else (last,):
            ends = {place: each.until for place, each in entry.partitions.items() if place not in left_out}
            facts = {"batchWatermarkMs": 0, "batchTimestampMs": int(time.time() * 1000), "conf": {}}
            number = max(entry.batch, last.batch - 1, 0)
            self._write(f"offsets/{number}", f"v1\n{json.dumps(facts)}\n{json.dumps(ledger.nested(ends))}")
        self._write(f"commits/{last.batch}", 'v1\n{"nextBatchWatermarkMs":0}')

    def _write(self, name: str, text: str) -> None:
        self.folder.write(f"{CHECKPOINT}/{name}", text)


def _agree(entry: LedgerEntry, ends: Offsets) -> bool:
    """Whether these are the offsets at which the entry's batch ended."""
    return all(place in entry.partitions and entry.partitions[place].until == end for place, end in ends.items())
