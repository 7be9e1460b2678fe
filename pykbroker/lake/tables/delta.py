"""Delta Lake: a batch is one transaction with its number (txnAppId, txnVersion), so Delta commits it only once."""

from __future__ import annotations

import json
from urllib.parse import unquote

from pyspark.sql import DataFrame

from pykbroker.lake.tables.table import RECORDS, Compacted, Table
from pykbroker.lake.trouble import LakeError, written_by

_APPLICATION = "pykbroker-lake-archive"
_LOG = f"{RECORDS}/_delta_log"
_LOOKED_BACK = 1000
"""The number of newest versions that are searched for the last batch's; maintenance may have added some after it."""


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
        """There is nothing to finish: files of a transaction that is not in Delta's log belong to no reader."""

    def forget(self) -> None:
        self.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # noqa: SLF001 - the only way to Java's classes

    def compact(self, target_bytes: int) -> Compacted:
        if not self.folder.exists(_LOG):
            return Compacted(0, 0)
        self.spark.conf.set("spark.databricks.delta.optimize.maxFileSize", target_bytes)
        self.spark.conf.set("spark.databricks.delta.optimize.minFileSize", target_bytes // 2)
        metrics = self.spark.sql(f"OPTIMIZE delta.`{self._path}`").first()["metrics"]
        return Compacted(metrics["numFilesRemoved"], metrics["numFilesAdded"])

    def _write(self, rows: DataFrame, batch: int, mode: str) -> None:
        options = {
            "txnAppId": _APPLICATION,
            "txnVersion": str(batch),
            "userMetadata": _mark(batch),
            "mergeSchema": "true",
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
