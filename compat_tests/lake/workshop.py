"""A lake, its cluster, and the jobs between them, in few words for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pykbroker.lake.archive import Archive, ArchiveOptions
from pykbroker.lake.cluster import Cluster
from pykbroker.lake.description import Description, Format
from pykbroker.lake.lake import Lake
from pykbroker.lake.sight import Sight
from pykbroker.lake.verify import Report, Verification

Rows = list[tuple[Any, ...]]


class Workshop:
    """``archive`` runs to the end of the topics; ``rows`` are those in the lake, in order, without topic and date."""

    def __init__(self, spark: SparkSession, bootstrap: str, path: Path, form: Format) -> None:
        self.path = path
        self.cluster = Cluster(spark, bootstrap)
        self.lake = Lake.create(spark, str(path), Description(form, self.cluster.cluster_id()))

    def archive(self, topics: str, **options: Any) -> Sight:
        return Archive(self.lake, self.cluster, ArchiveOptions(topics, **options)).run(lambda _: None)

    def verify(self, **options: Any) -> Report:
        return Verification(self.lake, self.cluster, **options).run()

    def rows(self, topic: str) -> Rows:
        found = self.lake.read().where(f"topic = '{topic}'").drop("topic", "date").collect()
        return sorted(tuple(map(_plain, row)) for row in found)

    def offsets(self, topic: str) -> list[tuple[int, int]]:
        return [row[:2] for row in self.rows(topic)]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [(header["key"], _plain(header["value"])) for header in value]
    return bytes(value) if isinstance(value, bytearray) else value
