"""A lake, its cluster, and the jobs between them, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from pykbroker.lake.archive import Archive, ArchiveOptions
from pykbroker.lake.archive_progress import ArchiveProgress
from pykbroker.lake.cluster import SourceCluster
from pykbroker.lake.description import Description, Format
from pykbroker.lake.lake import Lake
from pykbroker.lake.replay import Replay, ReplayOptions
from pykbroker.lake.verify import Report, Verification

Rows = list[tuple[Any, ...]]


class Workshop:
    """``archive`` runs to the end of the topics; ``rows`` are the lake's rows of a topic, in order, without topic and date.
    ``said`` is what archives told about damaged files that they made anew.
    """

    def __init__(self, spark: SparkSession, bootstrap: str, path: Path, form: Format) -> None:
        self.path = path
        self.said: list[str] = []
        self.cluster = SourceCluster(spark, bootstrap)
        self.lake = Lake.create(spark, str(path), Description(form, self.cluster.cluster_id()))

    def archive(self, topics: str, **options: Any) -> ArchiveProgress:
        return Archive(self.lake, self.cluster, ArchiveOptions(topics, **options)).run(
            lambda _: None, say=self.said.append
        )

    def verify(self, **options: Any) -> Report:
        return Verification(self.lake, self.cluster, **options).run()

    def replayed_and_archived(self, bootstrap: str, path: Path) -> Workshop:
        """Replay the lake into another cluster and archive that to another lake."""
        Replay(self.lake, bootstrap, {}, ReplayOptions()).run()
        again = Workshop(self.lake.spark, bootstrap, path, self.lake.description.format)
        again.archive(".*")
        return again

    def sums(self) -> dict[tuple[str, int], tuple[int, int]]:
        """For each partition, the number of records and a checksum of their contents and order, without their offsets."""
        order = f.row_number().over(Window.partitionBy("topic", "partition").orderBy("offset"))
        content = f.xxhash64("order", "timestamp", *(f.to_json(f.struct(each)) for each in ("key", "value", "headers")))
        digests = self.lake.read().withColumn("order", order)
        digests = digests.select("topic", "partition", content.cast("decimal(20,0)").alias("digest"))
        sums = digests.groupBy("topic", "partition").agg(f.count("*"), f.sum("digest")).collect()
        return {(row[0], row[1]): (row[2], int(row[3])) for row in sums}

    def rows(self, topic: str) -> Rows:
        found = self.lake.read().where(f"topic = '{topic}'").drop("topic", "date").collect()
        return sorted(tuple(map(_plain, row)) for row in found)

    def offsets(self, topic: str) -> list[tuple[int, int]]:
        return [row[:2] for row in self.rows(topic)]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [(header["key"], _plain(header["value"])) for header in value]
    return bytes(value) if isinstance(value, bytearray) else value
