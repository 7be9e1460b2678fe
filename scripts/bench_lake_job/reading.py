"""One topic in segments of 16 MiB; each source reads all of it, in turns, in one Spark session that is warm."""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from compat_tests.harness.ours import Pykbroker
from pykbroker.lake.direct.source import register
from pykbroker.lake.session import SparkOptions, start_session
from scripts.bench_lake_job.decoding import ways
from scripts.jars import jars

_TOPIC = "bench"
_PARTITIONS = 4
_DISTINCT = 4096


def main(given: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="bench-lake-") as folder:
        broker = Pykbroker(
            Path(folder), {"log.flush.offset.checkpoint.interval.ms": "100", "log.initial.task.delay.ms": "0"}
        )
        broker.start()
        try:
            _fill(broker.bootstrap, given)
            _await_noted(broker.data_dir, given.records)
            print(f"{given.records:,} records of {given.value_bytes} bytes, {given.codec}, {given.cores} cores\n")
            _compare(broker, given)
        finally:
            broker.stop()
        ways(broker.data_dir / f"{_TOPIC}-0")
    return 0


def _fill(bootstrap: str, given: argparse.Namespace) -> None:
    settings = {"segment.bytes": str(16 << 20)}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(_TOPIC, _PARTITIONS, 1, config=settings)])[_TOPIC].result(30)
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": given.codec,
            "linger.ms": 20,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    chance = random.Random(1)
    words = [f"{chance.randrange(1 << 40):x}" for _ in range(200)]
    values = [json.dumps({"id": number, "words": chance.choices(words, k=given.value_bytes // 11)}).encode().ljust(given.value_bytes)[: given.value_bytes] for number in range(_DISTINCT)]  # fmt: skip
    for number in range(given.records):
        producer.produce(
            _TOPIC, values[number % _DISTINCT], b"key-%d" % (number % 1000), partition=number % _PARTITIONS
        )
        if number % 50_000 == 0:
            producer.flush(60)
    producer.flush(60)


def _await_noted(data: Path, records: int) -> None:
    noted = data / "replication-offset-checkpoint"
    total = 0
    while total != records:
        time.sleep(0.1)
        lines = noted.read_text().splitlines()[2:] if noted.exists() else []
        total = sum(int(line.split()[2]) for line in lines if line.startswith(f"{_TOPIC} "))


def _compare(broker: Pykbroker, given: argparse.Namespace) -> None:
    spark = start_session(
        SparkOptions(f"local[{given.cores}]", {"spark.driver.memory": "2g"}, tuple(map(str, jars("spark")))),
        (),
        broker.data_dir.parent,
    )
    register(spark)
    sources: dict[str, Callable[[], DataFrame]] = {
        "Kafka source": lambda: _kafka(spark, broker),
        "direct source": lambda: _direct(spark, broker),
    }
    rates: dict[str, list[float]] = {name: [] for name in sources}
    for round_ in range(given.rounds + 1):
        for name, frame in sources.items():
            begun = time.perf_counter()
            row = (
                frame()
                .agg(f.count("*").alias("rows"), f.sum("offset"), f.sum(f.length("value")), f.max("key"))
                .collect()[0]
            )
            seconds = time.perf_counter() - begun
            if row.rows != given.records:
                raise SystemExit(f"{name} found {row.rows} of {given.records} records")
            if round_:  # the first one warms up
                rates[name].append(given.records / seconds)
    spark.stop()
    print("| source | records/s, median | all |\n|---|---|---|")
    for name, found in rates.items():
        print(f"| {name} | {statistics.median(found):,.0f} | {', '.join(f'{rate:,.0f}' for rate in found)} |")
    ratio = statistics.median(rates["direct source"]) / statistics.median(rates["Kafka source"])
    print(f"\nThe direct source reads {ratio:.1f} times as fast.\n")


def _kafka(spark: SparkSession, broker: Pykbroker) -> DataFrame:
    return (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .option("subscribe", _TOPIC)
        .load()
    )


def _direct(spark: SparkSession, broker: Pykbroker) -> DataFrame:
    return spark.read.format("pykbroker").option("path", str(broker.data_dir)).option("subscribe", _TOPIC).load()
