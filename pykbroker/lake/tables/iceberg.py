"""Iceberg, in a catalog that is a folder: a batch is one snapshot, whose summary names it.

A batch is staged as a snapshot with a write-audit-publish id, and then published. Iceberg publishes an id once: so of two processes that
take the same batch, wherever they run, only one adds it. This holds as long as the last batch's snapshot is not expired before its
ledger entry is written.
"""

from __future__ import annotations

import os
import time
import uuid
import zlib
from collections.abc import Mapping
from urllib.parse import urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameWriterV2, Row, SparkSession
from pyspark.sql import functions as f

from pykbroker.lake.errors import LakeError
from pykbroker.lake.hadoop_folder import Folder
from pykbroker.lake.requirements import local_path
from pykbroker.lake.tables.table import A_DAY, RECORDS, RECORDS_SHAPE, Compacted, Shape, SnapshotRetention, Table

_MARK = "pykbroker-batch"
_ATTEMPT = "pykbroker-attempt"
_WAP, _PUBLISHED = "spark.wap.id", "published-wap-id"
_STAGING = "write.wap.enabled"
#: Each commit writes the table's description anew, with all snapshots; the last ones are kept, for readers that have just begun.
_PROPERTIES = {
    _STAGING: "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "10",
    "commit.manifest.min-count-to-merge": "20",  # each batch adds a manifest, and each snapshot lists them all
}
_LEAST_SNAPSHOTS = 10
"""The last batches are found by their snapshots, whatever their age."""


class IcebergTable(Table):
    def __init__(
        self, spark: SparkSession, folder: Folder, shape: Shape = RECORDS_SHAPE, history: SnapshotRetention = A_DAY
    ) -> None:
        super().__init__(spark, folder, shape, history)
        self._catalog = f"lake_{zlib.crc32(folder.uri.encode()):08x}"
        self._name = f"{self._catalog}.{RECORDS}"
        self._is_in_place = False
        catalog = f"spark.sql.catalog.{self._catalog}"
        spark.conf.set(catalog, "org.apache.iceberg.spark.SparkCatalog")
        spark.conf.set(f"{catalog}.type", "hadoop")
        spark.conf.set(f"{catalog}.warehouse", folder.uri)
        spark.conf.set(f"{catalog}.cache-enabled", "false")

    def append(self, rows: DataFrame, batch: int) -> DataFrame:
        if not self._exists:
            self._create()
        if self._snapshot(batch) is None:
            self._publish(self._staged(rows, batch), batch)
        snapshot = self._snapshot(batch)
        assert snapshot is not None, "it was just published"
        reader = self.spark.read.format("iceberg")
        if snapshot["parent_id"] is None:
            reader = reader.option("versionAsOf", snapshot["snapshot_id"])
        else:
            reader = reader.option("start-snapshot-id", snapshot["parent_id"])
            reader = reader.option("end-snapshot-id", snapshot["snapshot_id"])
        return reader.load(self._name)

    def replace(self, rows: DataFrame, batch: int) -> DataFrame:
        if self._exists and self._snapshot(batch) is None:
            self._writer(rows, batch).overwrite(f.lit(True))
        return self.read()

    def read(self) -> DataFrame:
        return self.spark.table(self._name) if self._exists else self.empty()

    def recover(self) -> None:
        """Let batches be staged, and old descriptions be removed, also in a table of an earlier pykbroker. There is nothing to finish: a
        snapshot that was not published belongs to no reader, and expires with the table's old snapshots.
        """
        if self._exists:
            found = {row["key"]: row["value"] for row in self.spark.sql(f"SHOW TBLPROPERTIES {self._name}").collect()}
            if any(found.get(name) != value for name, value in _PROPERTIES.items()):
                self.spark.sql(f"ALTER TABLE {self._name} SET TBLPROPERTIES ({_listed(_PROPERTIES)})")
            self.tidy()

    def tidy(self) -> None:
        """By Iceberg's own API: the procedure of the same name reads all metadata in Spark."""
        if not self._exists:
            return
        query = f"SELECT unix_millis(committed_at) FROM {self._name}.snapshots ORDER BY committed_at DESC LIMIT {self.history.most}"  # noqa: S608
        times = [row[0] for row in self.spark.sql(query).collect()]
        limit = int((time.time() - self.history.keep_s) * 1000)
        if len(times) == self.history.most:
            limit = max(limit, times[-1])
        util = self.spark._jvm.org.apache.iceberg.spark.Spark3Util  # noqa: SLF001 - Python has no name for it
        table = util.loadIcebergTable(self.spark._jsparkSession, self._name)  # noqa: SLF001
        try:
            table.expireSnapshots().expireOlderThan(limit).retainLast(_LEAST_SNAPSHOTS).commit()
        except Py4JJavaError as error:  # an archive and a compaction may commit at once; the next time does
            if error.java_exception.getClass().getSimpleName() != "CommitFailedException":
                raise

    def compact(self, target_bytes: int) -> Compacted:
        if not self._exists:
            return Compacted(0, 0)
        options = f"map('target-file-size-bytes', '{target_bytes}', 'min-input-files', '2')"
        call = f"CALL {self._catalog}.system.rewrite_data_files(table => '{RECORDS}', options => {options})"
        found = self.spark.sql(call).first()
        self.tidy()
        return Compacted(found["rewritten_data_files_count"], found["added_data_files_count"])

    @property
    def _exists(self) -> bool:
        """Raises LakeError if the table was moved or copied."""
        if not self.folder.exists(f"{RECORDS}/metadata/version-hint.text"):
            return False
        if not self._is_in_place:
            self._check_place()
            self._is_in_place = True
        return True

    def _check_place(self) -> None:
        """Iceberg names all files by their whole paths. A copy would read and write the files of the original."""
        described = self.spark.sql(f"DESCRIBE TABLE EXTENDED {self._name}").where("col_name = 'Location'").first()
        begun = described["data_type"]
        if _path(begun) != _path(self.folder.at(RECORDS)):
            raise LakeError(
                f"The Iceberg table in {self.folder.uri} began in {begun}, and names its files by their whole paths: a lake of this format "
                "cannot be moved or copied. Move it back, link the old path to the new one, or archive to a folder of its own."
            )

    def _writer(self, rows: DataFrame, batch: int) -> DataFrameWriterV2:
        growing = {"mergeSchema": "true", "check-ordering": "false"} if self.shape.grows else {}
        return rows.writeTo(self._name).options(**{f"snapshot-property.{_MARK}": str(batch), **growing})

    def _staged(self, rows: DataFrame, batch: int) -> int:
        """Write the rows to a snapshot that no reader sees; returns its id."""
        attempt = uuid.uuid4().hex
        self.spark.conf.set(_WAP, _wap_id(batch))
        try:
            self._writer(rows, batch).option(f"snapshot-property.{_ATTEMPT}", attempt).append()
        finally:
            self.spark.conf.unset(_WAP)
        staged = self.spark.sql(
            f"SELECT snapshot_id FROM {self._name}.snapshots WHERE summary['{_ATTEMPT}'] = '{attempt}'"  # noqa: S608
        ).first()
        assert staged is not None, "it was just staged"
        return int(staged["snapshot_id"])

    def _publish(self, staged: int, batch: int) -> None:
        """Add a staged snapshot to the table, unless another process has added the batch meanwhile."""
        try:
            self.spark.sql(f"CALL {self._catalog}.system.cherrypick_snapshot('{RECORDS}', {staged})")
        except (PySparkException, Py4JJavaError):
            if self._snapshot(batch) is None:
                raise

    def _create(self) -> None:
        """Rows come arranged, so Iceberg need not shuffle them. With ``grows``, Iceberg and not Spark checks new columns."""
        properties = {"write.distribution-mode": "none", "format-version": "2", **_PROPERTIES}
        if self.shape.grows:
            properties["write.spark.accept-any-schema"] = "true"
        divided = ", ".join(self.shape.divided_by)
        self.spark.sql(
            f"CREATE TABLE IF NOT EXISTS {self._name} ({self.shape.schema}) USING iceberg PARTITIONED BY ({divided}) "
            f"TBLPROPERTIES ({_listed(properties)})"
        )

    def _snapshot(self, batch: int) -> Row | None:
        """The published snapshot of a batch. One that was staged on an older snapshot is published as a copy with another mark."""
        marks = f"summary['{_MARK}'] = '{batch}' OR summary['{_PUBLISHED}'] = '{_wap_id(batch)}'"
        published = f"SELECT snapshot_id FROM {self._name}.history WHERE is_current_ancestor"  # noqa: S608
        query = f"SELECT snapshot_id, parent_id FROM {self._name}.snapshots WHERE ({marks}) AND snapshot_id IN ({published})"  # noqa: S608
        return self.spark.sql(query).first()


def _listed(properties: Mapping[str, str]) -> str:
    return ", ".join(f"'{name}'='{value}'" for name, value in properties.items())


def _wap_id(batch: int) -> str:
    return f"{_MARK}-{batch}"


def _path(uri: str) -> str:
    """The path in a URI, on this machine without links. The same file system may have several names, so these are not compared."""
    local = local_path(uri)
    return urlsplit(uri).path.rstrip("/") if local is None else os.path.realpath(local)
