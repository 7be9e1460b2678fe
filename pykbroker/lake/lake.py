"""A lake: one folder with the table of records, the ledger of what was archived, and the stream's checkpoint.

lake.json   records/   ledger/000000000007.json   checkpoint/   and what the table's format needs
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from pykbroker.lake.book import LEDGER, Book, described
from pykbroker.lake.description import FILE, Description, Format
from pykbroker.lake.folder import Folder
from pykbroker.lake.ledger import Entry
from pykbroker.lake.tables.delta import DeltaTable
from pykbroker.lake.tables.iceberg import IcebergTable
from pykbroker.lake.tables.parquet import ParquetTable
from pykbroker.lake.tables.table import Table
from pykbroker.lake.trouble import Missing

CHECKPOINT = "checkpoint"
KEPT = 1000
"""Entries that are kept for people to look at; the last alone is needed."""

TABLES: dict[Format, type[Table]] = {
    Format.PARQUET: ParquetTable,
    Format.DELTA: DeltaTable,
    Format.ICEBERG: IcebergTable,
}


class Lake(Book):
    """The lake at ``path``. ``open`` wants one that is there, ``create`` makes one or compares."""

    folder: Folder

    def __init__(self, spark: SparkSession, folder: Folder, description: Description) -> None:
        super().__init__(folder, description)
        self.spark = spark
        self.table = TABLES[description.format](spark, folder)

    @classmethod
    def open(cls, spark: SparkSession, path: str) -> Lake:
        """Raises Missing where there is no lake, LakeError where it is not one of ours."""
        folder = Folder(spark, path)
        return cls(spark, folder, described(folder, path))

    @classmethod
    def create(cls, spark: SparkSession, path: str, wanted: Description) -> Lake:
        """Raises LakeError where there is another lake, or a folder with something else in it."""
        folder = Folder(spark, path)
        text = folder.read(FILE)
        if text is not None:
            Description.from_json(text, folder.at(FILE)).check_same(wanted, path)
        elif folder.exists("") and folder.names(""):
            raise Missing(f"{path} is not empty and no lake of ours; name another folder with --to.")
        else:
            folder.write(FILE, wanted.to_json())
        return cls(spark, folder, wanted)

    def write_entry(self, entry: Entry) -> None:
        """Write an entry, and remove the one that is no longer needed."""
        self.folder.write(f"{LEDGER}/{entry.batch:012d}.json", entry.to_json())
        self.folder.delete(f"{LEDGER}/{entry.batch - KEPT:012d}.json")

    def read(self) -> DataFrame:
        """Every archived record."""
        return self.table.read()
