"""Iceberg, in a catalog that is a folder: a batch is one snapshot, whose summary has its number.

A batch is taken once as long as the snapshot of the last one is not expired while its ledger entry is still to be written.
"""

from __future__ import annotations

import zlib

from pyspark.sql import DataFrame, DataFrameWriterV2, Row, SparkSession
from pyspark.sql import functions as f

from pykbroker.lake.folder import Folder
from pykbroker.lake.tables.table import RECORDS, RECORDS_SHAPE, Compacted, Shape, Table

_MARK = "pykbroker-batch"


class IcebergTable(Table):
    def __init__(self, spark: SparkSession, folder: Folder, shape: Shape = RECORDS_SHAPE) -> None:
        super().__init__(spark, folder, shape)
        self._catalog = f"lake_{zlib.crc32(folder.uri.encode()):08x}"
        self._name = f"{self._catalog}.{RECORDS}"
        catalog = f"spark.sql.catalog.{self._catalog}"
        spark.conf.set(catalog, "org.apache.iceberg.spark.SparkCatalog")
        spark.conf.set(f"{catalog}.type", "hadoop")
        spark.conf.set(f"{catalog}.warehouse", folder.uri)
        spark.conf.set(f"{catalog}.cache-enabled", "false")

    def append(self, rows: DataFrame, batch: int) -> DataFrame:
        self._create()
        snapshot = self._snapshot(batch)
        if snapshot is None:
            self._writer(rows, batch).append()
            snapshot = self._snapshot(batch)
        assert snapshot is not None, "it was just committed"
        reader = self.spark.read.format("iceberg")
        if snapshot["parent_id"] is None:
            reader = reader.option("snapshot-id", snapshot["snapshot_id"])
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
        """There is nothing to finish: a snapshot is in the table's metadata, or its files are nobody's."""

    def compact(self, target_bytes: int) -> Compacted:
        if not self._exists:
            return Compacted(0, 0)
        options = f"map('target-file-size-bytes', '{target_bytes}', 'min-input-files', '2')"
        call = f"CALL {self._catalog}.system.rewrite_data_files(table => '{RECORDS}', options => {options})"
        found = self.spark.sql(call).first()
        return Compacted(found["rewritten_data_files_count"], found["added_data_files_count"])

    @property
    def _exists(self) -> bool:
        return self.folder.exists(f"{RECORDS}/metadata/version-hint.text")

    def _writer(self, rows: DataFrame, batch: int) -> DataFrameWriterV2:
        growing = {"mergeSchema": "true", "check-ordering": "false"} if self.shape.grows else {}
        return rows.writeTo(self._name).options(**{f"snapshot-property.{_MARK}": str(batch), **growing})

    def _create(self) -> None:
        """Rows come arranged: Iceberg need not shuffle them again. New columns are its affair, and not Spark's to refuse."""
        properties = "'write.distribution-mode'='none', 'format-version'='2'"
        if self.shape.grows:
            properties += ", 'write.spark.accept-any-schema'='true'"
        divided = ", ".join(self.shape.divided_by)
        self.spark.sql(
            f"CREATE TABLE IF NOT EXISTS {self._name} ({self.shape.schema}) USING iceberg PARTITIONED BY ({divided}) "
            f"TBLPROPERTIES ({properties})"
        )

    def _snapshot(self, batch: int) -> Row | None:
        query = f"SELECT snapshot_id, parent_id FROM {self._name}.snapshots WHERE summary['{_MARK}'] = '{batch}'"  # noqa: S608
        return self.spark.sql(query).first()
