"""What an archive asks of a table of records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Self

from pyspark.sql import DataFrame, SparkSession

from pykbroker.lake.folder import Folder

RECORDS = "records"
"""The folder of the table in the lake."""


class Compacted(NamedTuple):
    """How many files were replaced by how many."""

    before: int
    after: int


class Table(ABC):
    """The records of a lake. ``batch`` numbers follow each other; one whose number is known has been taken already."""

    def __init__(self, spark: SparkSession, folder: Folder) -> None:
        self.spark = spark
        self.folder = folder

    def of(self, spark: SparkSession) -> Self:
        """The same table as another session sees it: a stream's batches have one of their own."""
        return type(self)(spark, self.folder)

    @abstractmethod
    def append(self, rows: DataFrame, batch: int) -> DataFrame:
        """Adds the rows unless batch ``batch`` has been added; returns what the table has of that batch, to be counted."""

    @abstractmethod
    def read(self) -> DataFrame:
        """All rows, with the columns of ``columns.SCHEMA``."""

    @abstractmethod
    def compact(self, target_bytes: int) -> Compacted:
        """Puts small files together, to about ``target_bytes`` each."""

    @abstractmethod
    def recover(self) -> None:
        """Finishes what a process that was killed has begun. Before the first append, and by nobody else meanwhile."""
