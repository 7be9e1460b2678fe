"""The demo of the lake: flights are archived, decoded, verified, replayed to a new broker, archived again, profiled.

A morning of them is replayed at a thousand times its speed, and the rest, by a replay of the same name, at full speed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.window import Window
from rich.console import Console

from pykbroker.lake import spark_artifacts
from pykbroker.lake.archive import Archive, ArchiveOptions
from pykbroker.lake.cluster import SourceCluster
from pykbroker.lake.description import Description, Format
from pykbroker.lake.errors import LakeError
from pykbroker.lake.lake import Lake
from pykbroker.lake.profile.aggregation import ProfileOptions, measured
from pykbroker.lake.profile.page import page
from pykbroker.lake.replay import Replay, ReplayOptions
from pykbroker.lake.spark_session import SparkOptions, start_session
from pykbroker.lake.values.decode import Decode
from pykbroker.lake.values.decode_options import DecodeOptions, KeyFormat, ValueFormat
from pykbroker.lake.values.decoded_tables import DecodedTopic
from pykbroker.lake.values.schema_survey import Surveyor
from pykbroker.lake.verify import Verification
from scripts.demo_job.broker import DemoBroker
from scripts.demo_job.data import DemoError, flights
from scripts.demo_job.topics import FLIGHTS, FlightPublisher, create_topics
from scripts.jars import jars

SPEED = 1000
MORNING_MS = 2 * 3_600_000
_FEW_MONTHS = 3
#: Java and Spark flags without the optimizing compilers, which do not pay off for so few flights.
_SHORT = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.streaming.pollingDelay": "10ms",
}
_CONTENT = ("timestamp", "key", "value", "headers")


@dataclass(frozen=True, slots=True)
class Show:
    """Prints each step: its result and duration."""

    console: Console

    @contextmanager
    def step(self, name: str) -> Iterator[list[str]]:
        said: list[str] = []
        begun = time.monotonic()
        with self.console.status(f"{name} ...") if self.console.is_terminal else nullcontext():
            yield said
        self.console.print(f"[bold]{name}[/] {time.monotonic() - begun:5.1f} s  {' '.join(said)}", soft_wrap=True)


def run_lake(options: argparse.Namespace, console: Console, folder: Path) -> int:
    """Run the whole demo; the exit status is 0 if no comparison finds a difference."""
    show = Show(console)
    with ExitStack() as cleanup:
        brokers = [DemoBroker(folder / name) for name in ("broker", "fresh-broker")]
        for broker in brokers:
            broker.start()
            cleanup.callback(broker.stop)
        first, fresh = (broker.bootstrap for broker in brokers)
        with show.step("publish  ") as said:
            publisher = _publisher(first, options.months)
            cleanup.callback(publisher.stop)
            spark = _session(folder, options.months)  # in parallel
            cleanup.callback(spark.stop)
            cleanup.enter_context(spark_artifacts.removed(spark))
            publisher.join()
            if publisher.failure is not None:
                raise publisher.failure
            said.append(f"{publisher.published:,} flights on {first}; Spark has started")
        try:
            return _steps(show, spark, folder, (first, fresh), publisher.flights[0].time_ms)
        except LakeError as error:
            raise DemoError(str(error)) from error


def _steps(show: Show, spark: SparkSession, folder: Path, brokers: tuple[str, str], begin_ms: int) -> int:
    lake = _archived(show, spark, brokers[0], folder / "lake")
    with show.step("decode   ") as said:
        decoded = DecodedTopic(lake, FLIGHTS)
        decoded.keep_options(DecodeOptions(ValueFormat.JSON, key=KeyFormat.TEXT))
        outcome = Decode(decoded, Surveyor()).run(lambda _: None)
        said.append(
            f"{outcome.decoded:,} values into the columns {', '.join(outcome.new_columns)}; {outcome.quarantined} in quarantine"
        )
    with show.step("verify   ") as said:
        report = Verification(lake, SourceCluster(spark, brokers[0])).run()
        said.append("lake and broker are equal" if report.is_equal else f"[red]they differ: {report}")
    with show.step("replay   ") as said:
        slow = _replayed(lake, brokers[1], until_ms=begin_ms + MORNING_MS, speed=SPEED)
        said.append(f"{slow:,} flights of the first morning, {SPEED} times as fast as they left")
    with show.step("replay   ") as said:
        said.append(f"{_replayed(lake, brokers[1]):,} more, on {brokers[1]}")
    again = _archived(show, spark, brokers[1], folder / "lake-again")
    with show.step("compare  ") as said:
        unlike = _unlike(lake.read(), again.read())
        said.append(
            f"[red]partitions that differ: {unlike}" if unlike else "both lakes have the same records in the same order"
        )
    with show.step("profile  ") as said:
        target = folder / "profile.html"
        target.write_text(
            page(str(folder / "lake"), time.strftime("%Y-%m-%d %H:%M", time.gmtime()), measured(lake, ProfileOptions()))
        )
        said.append(f"{target}")
    return 0 if report.is_equal and not unlike and not outcome.quarantined else 1


def _publisher(bootstrap: str, months: int) -> FlightPublisher:
    """Start to publish everything at once."""
    create_topics(bootstrap)
    publisher = FlightPublisher(bootstrap, flights(months), 0.001, closes=False)
    publisher.go_on()
    publisher.start()
    return publisher


def _session(folder: Path, months: int) -> SparkSession:
    conf = {"spark.driver.memory": "1g", "spark.local.dir": str(folder / "spark"), "spark.sql.shuffle.partitions": "2"}
    if months <= _FEW_MONTHS:
        conf |= _SHORT
    return start_session(SparkOptions("local[2]", conf, tuple(map(str, jars("spark")))), (), folder)


def _archived(show: Show, spark: SparkSession, bootstrap: str, at: Path) -> Lake:
    with show.step("archive  ") as said:
        cluster = SourceCluster(spark, bootstrap)
        lake = Lake.create(spark, str(at), Description(Format.PARQUET, cluster.cluster_id()))
        sight = Archive(lake, cluster, ArchiveOptions(FLIGHTS)).run(lambda _: None)
        said.append(f"{sight.rows:,} rows in {at}")
    return lake


def _replayed(lake: Lake, bootstrap: str, until_ms: int | None = None, speed: float | None = None) -> int:
    wanted = ReplayOptions(name="demo", until_ms=until_ms, speed=speed)
    return sum(Replay(lake, bootstrap, {}, wanted).run().values())


def _unlike(one: DataFrame, other: DataFrame) -> list[int]:
    """Return partitions whose records or order differ; offsets may differ, since transactions have markers."""
    sums = [{row.partition: (row.rows, row.digest) for row in _sums(rows).collect()} for rows in (one, other)]
    return sorted(number for number in sums[0].keys() | sums[1].keys() if sums[0].get(number) != sums[1].get(number))


def _sums(rows: DataFrame) -> DataFrame:
    order = f.row_number().over(Window.partitionBy("partition").orderBy("offset"))
    digests = rows.withColumn("order", order).select(
        "partition", f.xxhash64("order", *_CONTENT).cast("decimal(20,0)").alias("digest")
    )
    return digests.groupBy("partition").agg(f.count("*").alias("rows"), f.sum("digest").alias("digest"))
