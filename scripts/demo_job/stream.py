"""The streaming job: departure delays per origin airport and hour, flights joined with the planes that fly them.

One stream, written twice: to Parquet in append mode, each window once, when the watermark says that it is complete
(exactly once: files and checkpoint agree); and to the topic ``delays`` in update mode, each change of a window at once,
keyed by origin and hour (at least once, as Spark's Kafka sink is: the last record of a key is the truth).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from pykbroker.lake.spark_log import logging_to, output_to
from scripts.demo_job.data import DAY_MS
from scripts.demo_job.progress import Progress, watermark_ms
from scripts.demo_job.topics import DELAYS, FLIGHTS, PLANES
from scripts.jars import jars

WATERMARK_MS = 2 * DAY_MS  # the publisher keeps partitions within one day of each other
FLIGHT = "number INT, origin STRING, dep_delay INT"
PLANE = "seats INT"


def start_session(folder: Path) -> SparkSession:
    """A Spark session on two threads with the Kafka connector; its log goes to ``folder/spark.log``."""
    settings = {
        "spark.jars": ",".join(map(str, jars("spark"))),
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": logging_to(folder / "spark.log"),
        "spark.local.dir": str(folder / "spark"),
        "spark.sql.warehouse.dir": str(folder / "spark" / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.numRecentProgressUpdates": "10000",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.Builder().master("local[2]").appName("A year of departures")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with output_to(folder / "spark.out"):
        return builder.getOrCreate()


class DelayJob:
    """The two queries over one broker, restarted from their checkpoints where they fail."""

    RESTARTS = 3

    def __init__(self, spark: SparkSession, bootstrap: str, folder: Path, closing_ms: int) -> None:
        self.spark = spark
        self.bootstrap = bootstrap
        self.results = folder / "delays.parquet"
        self.restarts = 0
        self._checkpoints = folder / "checkpoints"
        self._closing_ms = closing_ms
        self._delays = self._delays_by_hour()
        self._queries: dict[str, StreamingQuery] = {}
        self._progress = {name: Progress(closing_ms) for name in ("parquet", "topic")}

    def start(self) -> None:
        self._queries = {"parquet": self._to_parquet(), "topic": self._to_topic()}

    def tend(self) -> None:
        """Collects progress reports, and restarts a query that failed. Raises its error when it has failed too often."""
        for name, query in self._queries.items():
            self._collect(query, self._progress[name])
            failure = query.exception()
            if failure is not None:
                self.restarts += 1
                if self.restarts > self.RESTARTS:
                    raise failure
                self._queries[name] = self._to_parquet() if name == "parquet" else self._to_topic()

    @staticmethod
    def _collect(query: StreamingQuery, progress: Progress) -> None:
        """Takes the reports that are new; asking for all of them is dear, so only where there is a new one."""
        last = query.lastProgress
        if last is not None and not progress.knows(last.batchId):
            for report in query.recentProgress:
                progress.add(json.loads(report.json))

    def report(self, name: str) -> dict[str, Any] | None:
        """The newest progress report of the query ``parquet`` or ``topic``."""
        return self._progress[name].newest

    def flights_read(self, name: str) -> int:
        return self._progress[name].flights_read

    @property
    def follows(self) -> bool:
        """True once both queries have read something: what is published from then on is seen as it comes."""
        return all(progress.flights_read for progress in self._progress.values())

    def rows_too_late(self) -> int:
        """Rows that came after their window was closed, in all batches of both queries. Must be 0."""
        return sum(progress.rows_too_late for progress in self._progress.values())

    def is_complete(self, end_offsets: dict[str, int]) -> bool:
        """True when both queries have read to these offsets of ``flights`` and the last window is closed."""
        for name in self._queries:
            report = self.report(name)
            if report is None or report["sources"][0]["endOffset"] != {FLIGHTS: end_offsets}:
                return False
            if watermark_ms(report) < self._closing_ms - WATERMARK_MS:
                return False
        return True

    def stop(self) -> None:
        for query in self._queries.values():
            query.stop()

    def _read(self, reader: Any, topic: str) -> DataFrame:
        options = {"kafka.bootstrap.servers": self.bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
        frame: DataFrame = reader.format("kafka").options(**options).load()
        return frame

    def _planes(self) -> DataFrame:
        """The register: of each tail number the last record, as compaction would leave it. Read once and kept."""
        planes = self._read(self.spark.read, PLANES).groupBy(f.col("key").cast("string").alias("tailnum"))
        newest = planes.agg(f.max_by(f.col("value").cast("string"), "offset").alias("plane"))
        return newest.select("tailnum", f.from_json("plane", PLANE).alias("plane")).cache()

    def _delays_by_hour(self) -> DataFrame:
        flights = self._read(self.spark.readStream, FLIGHTS).select(
            "timestamp",
            f.col("key").cast("string").alias("tailnum"),
            f.from_json(f.col("value").cast("string"), FLIGHT).alias("flight"),
        )
        joined = flights.withWatermark("timestamp", f"{WATERMARK_MS} milliseconds").join(
            f.broadcast(self._planes()), "tailnum", "left"
        )
        delay = f.col("flight.dep_delay")
        hours = joined.groupBy(f.window("timestamp", "1 hour"), f.col("flight.origin").alias("origin")).agg(
            f.count("*").alias("flights"),
            f.count(delay).alias("departed"),
            f.coalesce(f.sum(delay), f.lit(0)).alias("delay_minutes"),
            f.count_if(delay >= 15).alias("late"),
            f.max(delay).alias("worst"),
            f.count("plane.seats").alias("known_planes"),
            f.coalesce(f.sum("plane.seats"), f.lit(0)).alias("seats"),
        )
        # The closing record has an hour of its own. It is left out by its time: a filter on any other column would be
        # moved before the watermark by the optimiser, and the record would close nothing.
        closed = f.timestamp_millis(f.lit(self._closing_ms - WATERMARK_MS))
        return hours.select(f.col("window.start").alias("hour"), *hours.columns[1:]).where(f.col("hour") < closed)

    def _to_parquet(self) -> StreamingQuery:
        writer = self._delays.writeStream.format("parquet").outputMode("append").option("path", str(self.results))
        return writer.options(**self._checkpoint("parquet")).trigger(processingTime="1 second").start()

    def _to_topic(self) -> StreamingQuery:
        records = self._delays.select(
            f.format_string("%s %s", "origin", f.date_format("hour", "yyyy-MM-dd'T'HH:mm:ss'Z'")).alias("key"),
            f.to_json(f.struct(*self._delays.columns)).alias("value"),
        )
        writer = records.writeStream.format("kafka").outputMode("update").option("topic", DELAYS)
        writer = writer.option("kafka.bootstrap.servers", self.bootstrap).options(**self._checkpoint("topic"))
        return writer.trigger(processingTime="1 second").start()

    def _checkpoint(self, name: str) -> dict[str, str]:
        return {"checkpointLocation": str(self._checkpoints / name)}
