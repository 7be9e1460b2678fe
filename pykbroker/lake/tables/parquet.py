"""Plain Parquet files, for any reader: ``records/topic=orders/date=2026-01-31/batch-7-part-....parquet``.

A batch is written to ``staging/``, then committed by one file in ``commits/`` that names what is staged, then its files
are moved to ``records/``. Who is killed before the commit has written nothing; after it, the next start moves what is left
to move. So every file in ``records/`` belongs to a committed batch, once, and readers need to know nothing of this.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

from pykbroker.lake.tables.table import RECORDS, Compacted, Table
from pykbroker.lake.trouble import LakeError

STAGING, COMMITS, COMPACTIONS = "staging", "commits", "compactions"
KEPT = 1000
"""Commits that are kept for people to look at; the last alone is needed."""


class ParquetTable(Table):
    def append(self, rows: DataFrame, batch: int) -> DataFrame:
        return self._take(rows, batch, ())

    def replace(self, rows: DataFrame, batch: int) -> DataFrame:
        return self._take(rows, batch, tuple(self.folder.files(RECORDS)))

    def _take(self, rows: DataFrame, batch: int, removed: tuple[str, ...]) -> DataFrame:
        name = f"{COMMITS}/{batch:012d}.json"
        if not self.folder.exists(name):
            self._stage(rows, name, f"batch-{batch}-", removed)
        self._finish(name)
        self.folder.delete(f"{COMMITS}/{batch - KEPT:012d}.json")
        added = [self.folder.at(f"{RECORDS}/{file}") for file in self._commit(name)["added"].values()]
        return self._read(added)

    def read(self) -> DataFrame:
        return self._read([self.folder.at(RECORDS)] if self.folder.exists(RECORDS) else [])

    def recover(self) -> None:
        self._recover(COMMITS)

    def compact(self, target_bytes: int) -> Compacted:
        self._recover(COMPACTIONS)
        moving, before, after = self._moving(), 0, 0
        for day in self._days(RECORDS, len(self.shape.divided_by)):
            files = {f"{day}/{name}": size for name, size in self.folder.files(f"{RECORDS}/{day}").items()}
            small = {file: size for file, size in files.items() if size < target_bytes // 2 and file not in moving}
            if len(small) > 1:
                rows = self._read([self.folder.at(f"{RECORDS}/{file}") for file in small])
                count = max(1, round(sum(small.values()) / target_bytes))
                order = self.shape.ordered_by
                rows = rows.repartitionByRange(count, *order).sortWithinPartitions(*order)
                added = self._replace(rows, f"compacted-{day.rpartition('=')[2]}-", tuple(small))
                before, after = before + len(small), after + added
        return Compacted(before, after)

    def _replace(self, rows: DataFrame, prefix: str, removed: tuple[str, ...]) -> int:
        """Puts the rows, in new files, in place of those removed; how many files they are."""
        last = self.folder.names(COMPACTIONS)[-1:]
        number = int(last[0].removesuffix(".json")) + 1 if last else 0
        name = f"{COMPACTIONS}/{number:012d}.json"
        self._stage(rows, name, prefix, removed)
        self._finish(name)
        self.folder.delete(f"{COMPACTIONS}/{number - KEPT:012d}.json")
        return len(self._commit(name)["added"])

    def _read(self, paths: list[str]) -> DataFrame:
        if not paths:
            return self.empty()
        return self.spark.read.schema(self.shape.schema).option("basePath", self.folder.at(RECORDS)).parquet(*paths)

    def _moving(self) -> set[str]:
        """The files of the last batch: whoever adds to the table may be moving or counting them."""
        last = self.folder.names(COMMITS)[-1:]
        return set(self._commit(f"{COMMITS}/{last[0]}")["added"].values()) if last else set()

    def _days(self, name: str, depth: int) -> Iterator[str]:
        """The folders that have files, relative to ``records/``: one at a time, for a lake has many."""
        if depth == 0:
            yield name.partition("/")[2]
            return
        for inner in self.folder.names(name):
            yield from self._days(f"{name}/{inner}", depth - 1)

    def _recover(self, log: str) -> None:
        for name in self.folder.names(log)[-1:]:
            self._finish(f"{log}/{name}")
        self.folder.delete(f"{STAGING}/{log}")

    def _stage(self, rows: DataFrame, commit: str, prefix: str, removed: tuple[str, ...]) -> None:
        """Writes the rows where no reader looks, in a folder that no other attempt has, and commits them, unless another attempt has.

        Raises LakeError where what is to be removed is another's meanwhile.
        """
        staged = f"{STAGING}/{commit.partition('/')[0]}/{uuid.uuid4().hex}"
        rows.write.partitionBy(*self.shape.divided_by).parquet(self.folder.at(staged))
        added = {}
        for file in self.folder.files(staged):
            day, _, part = file.rpartition("/")
            added[file] = f"{day}/{prefix}{part}"
        if not self.folder.create(commit, json.dumps({"staged": staged, "added": added, "removed": removed})):
            self.folder.delete(staged)
            if removed:
                raise LakeError(f"Another process has changed {self.folder.at(RECORDS)} meanwhile; run this again.")

    def _finish(self, commit: str) -> None:
        """Moves what is staged to where readers see it; what was moved before is left alone."""
        found = self._commit(commit)
        if not self.folder.exists(found["staged"]):
            return
        for staged, file in found["added"].items():
            there = f"{RECORDS}/{file}"
            if not self.folder.exists(there) and not self.folder.move(f"{found['staged']}/{staged}", there):
                raise LakeError(f"{self.folder.at(commit)} names {staged}, which is neither staged nor in {RECORDS}.")
        for file in found["removed"]:
            self.folder.delete(f"{RECORDS}/{file}")
        done = f"{found['staged']}.done"  # at once: a folder that is half deleted would be taken for one half moved
        self.folder.move(found["staged"], done)
        self.folder.delete(done)

    def _commit(self, name: str) -> dict[str, Any]:
        text = self.folder.read(name)
        assert text is not None, f"{name} was just there"
        found: dict[str, Any] = json.loads(text)
        return found
