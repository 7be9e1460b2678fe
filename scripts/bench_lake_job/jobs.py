"""Measures the processor time per record of each job of the lake, with little memory."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager

from compat_tests.harness.ours import Pykbroker
from pykbroker.lake.archive import Archive, ArchiveOptions
from pykbroker.lake.cluster import SourceCluster
from pykbroker.lake.description import Description, Format
from pykbroker.lake.lake import Lake
from pykbroker.lake.profile.aggregation import ProfileOptions, measured
from pykbroker.lake.replay import Replay, ReplayOptions
from pykbroker.lake.spark_session import SparkOptions, start_session
from pykbroker.lake.values.decode import Decode
from pykbroker.lake.values.decode_options import DecodeOptions, ValueFormat
from pykbroker.lake.values.decoded_tables import DecodedTopic
from pykbroker.lake.values.schema_survey import Surveyor
from pykbroker.lake.verify import Verification
from scripts.bench_lake_job.processor_time import processor_seconds
from scripts.jars import jars

HEAP = "1g"
"""Java's, for the driver and all tasks: what is not enough for a job ends it."""


class Jobs:
    """Runs one job after the other, on an existing topic."""

    def __init__(self, broker: Pykbroker, given: argparse.Namespace, topic: str) -> None:
        self._broker = broker
        self._given = given
        self._topic = topic
        self._folder = broker.data_dir.parent
        files = tuple(map(str, jars("spark") + jars("lake")))
        options = SparkOptions(f"local[{given.cores}]", {"spark.driver.memory": HEAP}, files)
        self._spark = start_session(options, tuple(Format), self._folder)
        self._cluster = SourceCluster(self._spark, broker.bootstrap)

    def run(self) -> None:
        print(f"Java has {HEAP}\n\n| job | records/s | CPU, microseconds a record |\n|---|---:|---:|")
        with self._job("first archive: Java and Spark warm up"):
            self._archived("warm", Format.PARQUET)
        for form in (Format.DELTA, Format.ICEBERG, Format.PARQUET):
            with self._job(f"archive --format {form}"):
                lake = self._archived(str(form), form)
        with self._job("verify"):
            report = Verification(lake, self._cluster).run()
        with self._job("profile"):
            measured(lake, ProfileOptions())
        with self._job(
            "decode --as json"
        ):  # from now on there are Python workers, whose time is no longer counted once they exit
            decoded = DecodedTopic(lake, self._topic)
            decoded.keep_options(DecodeOptions(ValueFormat.JSON))
            Decode(decoded, Surveyor()).run(lambda _: None)
        with self._job("replay"):
            Replay(lake, self._broker.bootstrap, {}, ReplayOptions(prefix="again-")).run()
        self._spark.stop()
        if not report.is_equal:
            raise SystemExit(f"lake and broker differ: {report}")

    def _archived(self, name: str, form: Format) -> Lake:
        lake = Lake.create(self._spark, str(self._folder / name), Description(form, self._cluster.cluster_id()))
        Archive(lake, self._cluster, ArchiveOptions(self._topic)).run(lambda _: None)
        return lake

    @contextmanager
    def _job(self, name: str) -> Iterator[None]:
        processor, begun = processor_seconds(), time.perf_counter()
        yield
        seconds, records = time.perf_counter() - begun, self._given.records
        micros = (processor_seconds() - processor) / records * 1e6
        print(f"| {name} | {records / seconds:,.0f} | {micros:.2f} |", flush=True)
