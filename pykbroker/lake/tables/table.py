"""What an archive asks of a table of records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Self

from pyspark.sql import DataFrame, SparkSession

from pykbroker.lake.columns import ORDERED_BY, PARTITIONED_BY, SCHEMA
from pykbroker.lake.folder import Folder

RECORDS = "records"
"""The folder of the table in the lake."""


class Shape(NamedTuple):
    """The columns of a table in SQL, those by whose values it is divided, and those that order its rows.

    A table that ``grows`` takes on with its next batch what its shape has more than before; it is null in what it had.
    """

    schema: str = SCHEMA
    divided_by: tuple[str, ...] = PARTITIONED_BY
    ordered_by: tuple[str, ...] = ORDERED_BY
    grows: bool = False


RECORDS_SHAPE = Shape()


class Compacted(NamedTuple):
    """How many files were replaced by how many."""

    before: int
    after: int


class Table(ABC):
    """The records of a lake, or what was made of them. ``batch`` numbers rise; one whose number is known has been taken already."""

    def __init__(self, spark: SparkSession, folder: Folder, shape: Shape = RECORDS_SHAPE) -> None:
        self.spark = spark
        self.folder = folder
        self.shape = shape

    def empty(self) -> DataFrame:
        return self.spark.createDataFrame([], self.shape.schema)

    def of(self, spark: SparkSession) -> Self:
        """The same table as another session sees it: a stream's batches have one of their own."""
        return type(self)(spark, self.folder, self.shape)

    @abstractmethod
    def append(self, rows: DataFrame, batch: int) -> DataFrame:
        """Adds the rows unless batch ``batch`` has been added; returns what the table has of that batch, to be counted."""

    @abstractmethod
    def replace(self, rows: DataFrame, batch: int) -> DataFrame:
        """Puts the rows, which may come from the table, in place of all that it has, unless batch ``batch`` has; returns them."""

    @abstractmethod
    def read(self) -> DataFrame:
        """All rows, with the columns of the shape."""

    @abstractmethod
    def compact(self, target_bytes: int) -> Compacted:
        """Puts small files together, to about ``target_bytes`` each."""

    @abstractmethod
    def recover(self) -> None:
        """Finishes what a process that was killed has begun. Before the first append, and by nobody else meanwhile."""
