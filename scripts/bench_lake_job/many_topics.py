"""What an archive of many small topics takes: each partition is a task of Spark's, and a wait in a task is one for all behind it."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from compat_tests.harness.ours import Pykbroker
from pykbroker.lake.archive import Archive, ArchiveOptions
from pykbroker.lake.cluster import SourceCluster
from pykbroker.lake.description import Description, Format
from pykbroker.lake.lake import Lake
from pykbroker.lake.spark_session import SparkOptions, start_session
from scripts.jars import jars

_PARTITIONS, _ROWS = 2, 5
#: The default of pykbroker lake, Spark's with the remedy that its users find, and Spark's.
_WAITS = {"default": {}, "20 ms": {"fetch.max.wait.ms": "20"}, "500 ms, Kafka's default": {"fetch.max.wait.ms": "500"}}


def many_topics(given: argparse.Namespace) -> None:
    """Archive the topics with each wait, and print the seconds of each."""
    with tempfile.TemporaryDirectory(prefix="bench-lake-") as place:
        broker = Pykbroker(Path(place) / "broker")
        broker.start()
        try:
            _fill(broker.bootstrap, given.topics)
            files = tuple(map(str, jars("spark")))
            spark = start_session(SparkOptions(f"local[{given.cores}]", {}, files), (Format.PARQUET,), Path(place))
            print(
                f"{given.topics} topics of {_PARTITIONS} partitions, {given.cores} cores\n\n| fetch.max.wait.ms | s |\n|---|---:|"
            )
            # Java is compiled while it runs, through the first hundred tasks.
            _archived(spark, broker.bootstrap, {}, f"{place}/warm")
            for number, (name, options) in enumerate(_WAITS.items()):
                took = _archived(spark, broker.bootstrap, options, f"{place}/lake-{number}")
                print(f"| {name} | {took:.1f} |", flush=True)
            spark.stop()
        finally:
            broker.stop()


def _archived(spark: SparkSession, bootstrap: str, options: dict[str, str], place: str) -> float:
    """The seconds that it takes."""
    cluster = SourceCluster(spark, bootstrap, options)
    lake = Lake.create(spark, place, Description(Format.PARQUET, cluster.cluster_id()))
    begun = time.perf_counter()
    rows = Archive(lake, cluster, ArchiveOptions("t-.*")).run(lambda _: None, say=print).rows
    assert rows % (_PARTITIONS * _ROWS) == 0
    return time.perf_counter() - begun


def _fill(bootstrap: str, topics: int) -> None:
    names = [f"t-{number}" for number in range(topics)]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = admin.create_topics([NewTopic(name, _PARTITIONS, 1) for name in names])
    for each in made.values():
        each.result(60)
    producer = Producer({"bootstrap.servers": bootstrap})
    for name in names:
        for number in range(_PARTITIONS * _ROWS):
            producer.produce(name, b"x" * 100, partition=number % _PARTITIONS)
        producer.poll(0)
    assert producer.flush(60) == 0
