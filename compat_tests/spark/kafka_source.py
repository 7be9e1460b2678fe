"""Short ways to say "read this from the broker with Spark", batch and streaming, and to look at what came."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

COLUMNS = ("CAST(value AS STRING) AS value", "topic", "partition", "offset")


class Place(NamedTuple):
    """Where a record lies in the broker, and its value."""

    topic: str
    partition: int
    offset: int
    value: str


class KafkaSource:
    """Spark's Kafka source (format ``kafka``) against one broker; options are the connector's own."""

    def __init__(self, spark: SparkSession, bootstrap: str) -> None:
        self.spark = spark
        self.bootstrap = bootstrap

    def batch(self, **options: Any) -> DataFrame:
        """A batch read; options given as dictionaries are written as JSON, ``kafka_`` stands for ``kafka.``."""
        return self.spark.read.format("kafka").options(**self._options(options)).load()

    def stream(self, **options: Any) -> DataFrame:
        """A streaming read with the same options."""
        return self.spark.readStream.format("kafka").options(**self._options(options)).load()

    def drain(self, folder: Path, **options: Any) -> list[dict[str, Any]]:
        """Runs a stream with the trigger AvailableNow into ``folder``; returns the progress of its batches with rows."""
        query = run(self.stream(**options), folder, availableNow=True)
        assert query.awaitTermination(60), "the stream did not end within 60 s"
        return batches(query)

    def stored(self, folder: Path) -> list[Place]:
        """What a stream has written into ``folder``, sorted by place: duplicates are visible."""
        rows = self.spark.read.parquet(str(folder / "out")).collect()
        return sorted(Place(row.topic, row.partition, row.offset, row.value) for row in rows)

    def _options(self, options: dict[str, Any]) -> dict[str, str]:
        written = {"kafka.bootstrap.servers": self.bootstrap}
        for name, value in options.items():
            kafka_name = "kafka." + name.removeprefix("kafka_").replace("_", ".") if name.startswith("kafka_") else name
            written[kafka_name] = json.dumps(value) if isinstance(value, dict) else str(value)
        return written


def places(frame: DataFrame) -> list[Place]:
    """The records of a batch read, sorted by place."""
    return sorted(
        Place(row.topic, row.partition, row.offset, row.value) for row in frame.selectExpr(*COLUMNS).collect()
    )


def values(found: list[Place]) -> list[str]:
    return [place.value for place in found]


def run(frame: DataFrame, folder: Path, **trigger: Any) -> StreamingQuery:
    """Starts a stream into Parquet files in ``folder/out`` with its checkpoint in ``folder/checkpoint``."""
    writer = frame.selectExpr(*COLUMNS).writeStream.format("parquet").option("path", str(folder / "out"))
    return writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(**trigger).start()


def batches(query: StreamingQuery) -> list[dict[str, Any]]:
    """The progress reports of the batches that read rows."""
    reports = [json.loads(report.json) for report in query.recentProgress]
    return [report for report in reports if report["numInputRows"]]


def await_that(condition: Callable[[], bool], query: StreamingQuery, seconds: float = 150) -> None:
    """Waits until the condition holds while the query lives; fails with the query's own error where it died."""
    deadline = time.monotonic() + seconds
    while not condition():
        failure = query.exception()
        assert failure is None, failure
        assert time.monotonic() < deadline, f"not reached within {seconds} s; last progress: {query.lastProgress}"
        time.sleep(0.05)
