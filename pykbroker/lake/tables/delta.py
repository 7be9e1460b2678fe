"""Delta Lake: a batch is one transaction with its number (txnAppId, txnVersion), so Delta commits it only once."""

from __future__ import annotations

import json
from urllib.parse import unquote

from pyspark.sql import DataFrame

from pykbroker.lake.errors import LakeError, written_by
from pykbroker.lake.tables.table import RECORDS, Compacted, Table

_APPLICATION = "pykbroker-lake-archive"
_LOG = f"{RECORDS}/_delta_log"
_LOOKED_BACK = 1000
"""The number of newest versions that are searched for the last batch's; maintenance may have added some after it."""
_LOG_RETENTION, _FILE_RETENTION = "delta.logRetentionDuration", "delta.deletedFileRetentionDuration"


class DeltaTable(Table):
    def append(self, rows: DataFrame, batch: int) -> DataFrame:
        self._write(rows, batch, "append")
        paths = [self.folder.at(f"{RECORDS}/{file}") for file in self._added(batch)]
        if not paths:
            return self.empty()
        return self.named(self.spark.read.schema(self.shape.schema).option("basePath", self._path).parquet(*paths))

    def replace(self, rows: DataFrame, batch: int) -> DataFrame:
        self._write(rows, batch, "overwrite")
        return self.read()

    def read(self) -> DataFrame:
        if not self.folder.exists(_LOG):
            return self.empty()
        return self.named(self.spark.read.format("delta").load(self._path))

    def recover(self) -> None:
        """Let Delta remove its old log, also of a table of an earlier pykbroker. There is nothing to finish: files of a transaction that is not
        in the log belong to no reader.
        """
        if self.folder.exists(_LOG):
            found = self.spark.sql(f"SHOW TBLPROPERTIES delta.`{self._path}`").collect()
            if not self._kept.items() <= {row["key"]: row["value"] for row in found}.items():
                listed = ", ".join(f"'{name}'='{value}'" for name, value in self._kept.items())
                self.spark.sql(f"ALTER TABLE delta.`{self._path}` SET TBLPROPERTIES ({listed})")

    @property
    def _kept(self) -> dict[str, str]:
        """Delta removes the log with its checkpoints, and removed files when it is told to. Its own defaults are thirty days and seven."""
        interval = f"interval {max(round(self.history.keep_s), 1)} seconds"
        return {_LOG_RETENTION: interval, _FILE_RETENTION: interval}

    def tidy(self) -> None:
        """Remove files that compaction or a replacement has removed from the table, once they are old enough."""
        if self.folder.exists(_LOG):
            self.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
            self.spark.conf.set("spark.databricks.delta.vacuum.logging.enabled", "false")
            self.spark.sql(f"VACUUM delta.`{self._path}` RETAIN {self.history.keep_s / 3600:.3f} HOURS").collect()

    def tidy_after(self, batch: int) -> None:
        """An archive removes nothing, and Delta tidies its own log."""

    def forget(self) -> None:
        self.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # noqa: SLF001 - the only way to Java's classes

    def compact(self, target_bytes: int) -> Compacted:
        if not self.folder.exists(_LOG):
            return Compacted(0, 0)
        self.spark.conf.set("spark.databricks.delta.optimize.maxFileSize", target_bytes)
        self.spark.conf.set("spark.databricks.delta.optimize.minFileSize", target_bytes // 2)
        metrics = self.spark.sql(f"OPTIMIZE delta.`{self._path}`").first()["metrics"]
        self.tidy()
        return Compacted(metrics["numFilesRemoved"], metrics["numFilesAdded"])

    def _write(self, rows: DataFrame, batch: int, mode: str) -> None:
        options = {
            "txnAppId": _APPLICATION,
            "txnVersion": str(batch),
            "userMetadata": _mark(batch),
            "mergeSchema": "true",
            **self._kept,  # of a new table
        }
        rows.write.format("delta").mode(mode).partitionBy(*self.shape.divided_by).options(**options).save(self._path)

    @property
    def _path(self) -> str:
        return self.folder.at(RECORDS)

    def _added(self, batch: int) -> list[str]:
        """The files that the batch's transaction added, from Delta's log. Raises LakeError if it is not found."""
        names = [name for name in self.folder.names(_LOG) if name.endswith(".json")]
        for name in reversed(names[-_LOOKED_BACK:]):
            with written_by("archive", self.folder.at(f"{_LOG}/{name}")):
                actions = [json.loads(line) for line in (self.folder.read(f"{_LOG}/{name}") or "").splitlines()]
            if any(action.get("commitInfo", {}).get("userMetadata") == _mark(batch) for action in actions):
                return [unquote(action["add"]["path"]) for action in actions if "add" in action]
        raise LakeError(
            f"Delta Lake has committed batch {batch} before, but not in the last {_LOOKED_BACK} versions of {self._path}."
        )


def _mark(batch: int) -> str:
    return f"{_APPLICATION} batch {batch}"
