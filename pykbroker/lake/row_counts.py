"""Compares the number of rows that a lake has with the number that its ledger counted.

With plain Parquet, a file that is gone or empty is otherwise noticed by nobody: Spark reads the other files.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pykbroker.lake.lake import Lake
from pykbroker.lake.ledger import LakePartition, LedgerEntry, Range

_PARTITION = ["topic", "partition"]


def shortages(lake: Lake, entry: LedgerEntry) -> list[str]:
    """A sentence for each partition of the entry of which the lake has more or fewer rows than were counted, also those that the broker no
    longer has. It reads one column.
    """
    ranges = {place: (progress.begin, progress.until) for place, progress in entry.partitions.items()}
    counted = rows_within(lake, ranges).groupBy(_PARTITION).count().collect()
    found = {LakePartition(row.topic, row.partition): row["count"] for row in counted}
    return [
        f"{place}: the ledger counted {progress.rows} rows, and the lake has {found.get(place, 0)}"
        for place, progress in sorted(entry.partitions.items())
        if found.get(place, 0) != progress.rows
    ]


def rows_within(lake: Lake, ranges: Mapping[LakePartition, Range]) -> DataFrame:
    """The lake's rows in these ranges of offsets."""
    rows = lake.read().where(f.col("topic").isin(sorted({place.topic for place in ranges})))
    inside = (f.col("offset") >= f.col("from")) & (f.col("offset") < f.col("until"))
    return rows.join(f.broadcast(_limits(lake.spark, ranges)), _PARTITION).where(inside)


def _limits(spark: SparkSession, ranges: Mapping[LakePartition, Range]) -> DataFrame:
    rows = [(*place, *limits) for place, limits in ranges.items()]
    return spark.createDataFrame(rows, "topic STRING, partition INT, from BIGINT, until BIGINT")
