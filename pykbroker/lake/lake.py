"""A lake: one folder with the table of records, the ledger of archived offsets, and the stream's checkpoint.

lake.json   records/   ledger/000000000007.json   checkpoint/   and the files that the table's format needs
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from pykbroker.lake.description import FILE, Description, Format
from pykbroker.lake.errors import Missing
from pykbroker.lake.hadoop_folder import Folder
from pykbroker.lake.ledger import LedgerEntry
from pykbroker.lake.ledger_files import LEDGER, LedgerFiles, described
from pykbroker.lake.spark_session import check_jars
from pykbroker.lake.tables.delta import DeltaTable
from pykbroker.lake.tables.iceberg import IcebergTable
from pykbroker.lake.tables.parquet import ParquetTable
from pykbroker.lake.tables.table import A_DAY, SnapshotRetention, Table

CHECKPOINT = "checkpoint"
KEPT = 1000
"""The number of entries that are kept. The archive needs only the last; `lake decode` and people use the others."""

TABLES: dict[Format, type[Table]] = {
    Format.PARQUET: ParquetTable,
    Format.DELTA: DeltaTable,
    Format.ICEBERG: IcebergTable,
}


class Lake(LedgerFiles):
    """A lake. ``open`` opens an existing one; ``create`` makes one, or checks that the existing one is the same."""

    folder: Folder

    def __init__(
        self, spark: SparkSession, folder: Folder, description: Description, history: SnapshotRetention = A_DAY
    ) -> None:
        super().__init__(folder, description)
        check_jars(spark, description.format)
        self.spark = spark
        self.history = history
        self.table = TABLES[description.format](spark, folder, history=history)

    @classmethod
    def open(cls, spark: SparkSession, path: str, history: SnapshotRetention = A_DAY) -> Lake:
        """Open the lake at ``path``. Raises Missing if there is none or its format's jars are missing, LakeError if it is damaged."""
        folder = Folder(spark, path)
        return cls(spark, folder, described(folder, path), history)

    @classmethod
    def create(cls, spark: SparkSession, path: str, wanted: Description, history: SnapshotRetention = A_DAY) -> Lake:
        """Make a lake at ``path``, or open it. Raises LakeError if its description is another, Missing if the folder has other content or the
        format's jars are missing.
        """
        folder = Folder(spark, path)
        text = folder.read(FILE)
        if text is not None:
            Description.from_json(text, folder.at(FILE)).check_same(wanted, path)
        elif folder.exists("") and folder.names(""):
            raise Missing(f"{path} is not empty and no lake of ours; name another folder with --to.")
        else:
            folder.write(FILE, wanted.to_json())
        return cls(spark, folder, wanted, history)

    def write_entry(self, entry: LedgerEntry) -> None:
        """Write the entry of a batch, and remove the oldest."""
        self.folder.write(f"{LEDGER}/{entry.batch:012d}.json", entry.to_json())
        self.folder.delete(f"{LEDGER}/{entry.batch - KEPT:012d}.json")

    def read(self) -> DataFrame:
        """All archived records."""
        return self.table.read()
