"""The interface of a table of records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Self

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pykbroker.lake.hadoop_folder import Folder
from pykbroker.lake.record_columns import ORDERED_BY, PARTITIONED_BY, SCHEMA

RECORDS = "records"
"""The folder of the table in the lake."""


_NULL = "__HIVE_DEFAULT_PARTITION__"
"""In names of folders, null; and a valid name of a topic."""


class Shape(NamedTuple):
    """The columns of a table in SQL, those that partition it, and those that order its rows.

    A table that ``grows`` gets the new columns of its shape with its next batch; in older rows they are null.
    """

    schema: str = SCHEMA
    divided_by: tuple[str, ...] = PARTITIONED_BY
    ordered_by: tuple[str, ...] = ORDERED_BY
    grows: bool = False


RECORDS_SHAPE = Shape()


class SnapshotRetention(NamedTuple):
    """What a table keeps of its past, for readers that began before and for queries of earlier times: the snapshots of the last ``keep_s``
    seconds, but not more than ``most``. It is tidied after each ``every`` batches.
    """

    keep_s: float = 86_400.0
    most: int = 1_500
    every: int = 100


A_DAY = SnapshotRetention()


class Compacted(NamedTuple):
    """The number of files that were replaced, and of those that replace them."""

    before: int
    after: int


class Table(ABC):
    """The records of a lake, or values decoded from them. Batch numbers increase; a batch with a known number was added before."""

    def __init__(
        self, spark: SparkSession, folder: Folder, shape: Shape = RECORDS_SHAPE, history: SnapshotRetention = A_DAY
    ) -> None:
        self.spark = spark
        self.folder = folder
        self.shape = shape
        self.history = history

    def empty(self) -> DataFrame:
        return self.spark.createDataFrame([], self.shape.schema)

    def named(self, rows: DataFrame) -> DataFrame:
        """Rows that Spark has read from folders, with the topic whose name it takes for null."""
        if "topic" not in self.shape.divided_by:
            return rows
        return rows.withColumn("topic", f.coalesce("topic", f.lit(_NULL)))

    def of(self, spark: SparkSession) -> Self:
        """The same table in another session: the batches of a stream have a session of their own."""
        return type(self)(spark, self.folder, self.shape, self.history)

    @abstractmethod
    def append(self, rows: DataFrame, batch: int) -> DataFrame:
        """Add the rows unless the batch was added before; returns the rows that the table has of this batch."""

    @abstractmethod
    def replace(self, rows: DataFrame, batch: int) -> DataFrame:
        """Replace all rows by these, which may be read from the table, unless the batch was added before; returns the new rows."""

    @abstractmethod
    def read(self) -> DataFrame:
        """All rows, with the columns of the shape."""

    @abstractmethod
    def compact(self, target_bytes: int) -> Compacted:
        """Merge small files into files of about ``target_bytes``."""

    def tidy(self) -> None:  # noqa: B027 - plain files have no past
        """Remove what the table keeps beyond its ``history``: snapshots, and files that they alone have."""

    def tidy_after(self, batch: int) -> None:
        """Tidy if it is due after this batch."""
        if (batch + 1) % self.history.every == 0:
            self.tidy()

    def forget(self) -> None:  # noqa: B027 - most formats know nothing
        """Forget what is known of tables in this process: folders of tables were moved or deleted."""

    @abstractmethod
    def recover(self) -> None:
        """Finish what a killed process has begun. It is called before the first append, while no other process writes."""
