"""Finds and records, in Spark, the offsets that expired before they were read.

``lost/000000000007/`` of a lake has those of batch 7, one JSON object per line. The driver gets only sums of partitions and the longest
ranges.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from pykbroker.lake.hadoop_folder import Folder
from pykbroker.lake.ledger import MOST_RANGES, LakePartition, Lost, Range

LOST = "lost"
_PARTITION = ["topic", "partition"]
_LIMITS = "topic STRING, partition INT, start BIGINT, limit BIGINT"
_GAPS = "topic STRING, partition INT, from BIGINT, until BIGINT"


def losses(
    folder: Folder, batch: int, taken: DataFrame, gone: Mapping[LakePartition, Range]
) -> dict[LakePartition, Lost]:
    """The offsets in the ranges that are ``gone`` from the broker and that the rows ``taken`` do not have.

    This is an upper bound: transaction markers, aborted records and compaction leave gaps that cannot be distinguished any more.
    """
    if not gone:
        return {}
    written = folder.at(f"{LOST}/{batch:012d}")
    _gaps(taken, gone).write.mode("overwrite").json(written)
    gaps = taken.sparkSession.read.schema(_GAPS).json(written).withColumn("length", f.expr("until - `from`"))
    longest = f.row_number().over(Window.partitionBy(*_PARTITION).orderBy(f.desc("length"), "from"))
    ranges: dict[LakePartition, list[Range]] = {}
    for row in gaps.withColumn("rank", longest).where(f.col("rank") <= MOST_RANGES).collect():
        ranges.setdefault(LakePartition(row.topic, row.partition), []).append((row["from"], row["until"]))
    sums = {LakePartition(*row[:2]): row[2] for row in gaps.groupBy(*_PARTITION).agg(f.sum("length")).collect()}
    return {place: Lost(sums[place], tuple(sorted(found))) for place, found in ranges.items()}


def _gaps(taken: DataFrame, gone: Mapping[LakePartition, Range]) -> DataFrame:
    limits = taken.sparkSession.createDataFrame([(*place, *limits) for place, limits in gone.items()], _LIMITS)
    there = taken.join(f.broadcast(limits), _PARTITION).where("offset < limit").select(*_PARTITION, "start", "offset")
    ends = limits.select(*_PARTITION, "start", f.col("limit").alias("offset"))
    before = f.lag("offset").over(Window.partitionBy(*_PARTITION).orderBy("offset"))
    gaps = there.union(ends).withColumn("from", f.coalesce(before + 1, "start"))
    return gaps.select(*_PARTITION, "from", f.col("offset").alias("until")).where("`from` < until")
