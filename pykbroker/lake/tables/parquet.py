"""Plain Parquet files, for any reader: ``records/topic=orders/date=2026-01-31/batch-7-part-....parquet``.

A batch is written to ``staging/``, then committed by one file in ``commits/`` that names the staged files, then these are moved to
``records/``. A process that is killed before the commit has added nothing; if it is killed later, the next start moves the remaining
files. So every file in ``records/`` belongs to exactly one committed batch, and readers need not know of the other folders.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame

from pykbroker.lake.errors import LakeError, written_by
from pykbroker.lake.ledger_files import numbered
from pykbroker.lake.tables.table import RECORDS, Compacted, Table

STAGING, COMMITS, COMPACTIONS = "staging", "commits", "compactions"
KEPT = 1000
"""The number of commits that are kept for people to look at; only the last is needed."""


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
            self._check_none_is_empty(files)
            small = {file: size for file, size in files.items() if size < target_bytes // 2 and file not in moving}
            if len(small) > 1:
                rows = self._read([self.folder.at(f"{RECORDS}/{file}") for file in small])
                count = max(1, round(sum(small.values()) / target_bytes))
                order = self.shape.ordered_by
                rows = rows.repartitionByRange(count, *order).sortWithinPartitions(*order)
                added = self._replace(rows, f"compacted-{day.rpartition('=')[2]}-", tuple(small))
                before, after = before + len(small), after + added
        return Compacted(before, after)

    def _check_none_is_empty(self, files: Mapping[str, int]) -> None:
        """Spark reads an empty file as one without rows; after it was merged, nobody could tell which file was damaged."""
        for file, size in files.items():
            if size == 0:
                raise LakeError(
                    f"{self.folder.at(f'{RECORDS}/{file}')} is empty: it is damaged. Put back a copy of it."
                )

    def _replace(self, rows: DataFrame, prefix: str, removed: tuple[str, ...]) -> int:
        """Replace files by new ones with these rows; returns the number of new files."""
        last = numbered(self.folder.names(COMPACTIONS))[-1:]
        number = int(last[0].removesuffix(".json")) + 1 if last else 0
        name = f"{COMPACTIONS}/{number:012d}.json"
        self._stage(rows, name, prefix, removed)
        self._finish(name)
        self.folder.delete(f"{COMPACTIONS}/{number - KEPT:012d}.json")
        return len(self._commit(name)["added"])

    def _read(self, paths: list[str]) -> DataFrame:
        if not paths:
            return self.empty()
        reader = self.spark.read.schema(self.shape.schema).option("basePath", self.folder.at(RECORDS))
        return self.named(reader.parquet(*paths))

    def _moving(self) -> set[str]:
        """The files of the last batch, which an archive that runs may be moving or counting."""
        last = numbered(self.folder.names(COMMITS))[-1:]
        return set(self._commit(f"{COMMITS}/{last[0]}")["added"].values()) if last else set()

    def _days(self, name: str, depth: int) -> Iterator[str]:
        """The folders with files, relative to ``records/``, listed lazily: a lake has many."""
        if depth == 0:
            yield name.partition("/")[2]
            return
        for inner in self.folder.names(name):
            yield from self._days(f"{name}/{inner}", depth - 1)

    def _recover(self, log: str) -> None:
        for name in numbered(self.folder.names(log))[-1:]:
            self._finish(f"{log}/{name}")
        self.folder.delete(f"{STAGING}/{log}")

    def _stage(self, rows: DataFrame, commit: str, prefix: str, removed: tuple[str, ...]) -> None:
        """Write the rows to a staging folder of their own and commit them, unless another process has committed the batch.

        Raises LakeError if another process has committed, and so may have removed, the files that this one would remove.
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
        """Move the staged files that were not moved yet to ``records/``. Raises LakeError if one is missing."""
        found = self._commit(commit)
        if not self.folder.exists(found["staged"]):
            return
        for staged, file in found["added"].items():
            there = f"{RECORDS}/{file}"
            if not self.folder.exists(there) and not self.folder.move(f"{found['staged']}/{staged}", there):
                raise LakeError(f"{self.folder.at(commit)} names {staged}, which is neither staged nor in {RECORDS}.")
        for file in found["removed"]:
            self.folder.delete(f"{RECORDS}/{file}")
        done = (
            f"{found['staged']}.done"  # a rename is atomic: a partly deleted folder would look like a partly moved one
        )
        self.folder.move(found["staged"], done)
        self.folder.delete(done)

    def _commit(self, name: str) -> dict[str, Any]:
        text = self.folder.read(name)
        with written_by("archive", self.folder.at(name)):
            found: dict[str, Any] = json.loads(text or "")
            return {part: found[part] for part in ("staged", "added", "removed")}
