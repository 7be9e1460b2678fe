"""Runs each query by each source, in turns, in one warm Spark session."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

from pyspark.sql import DataFrame, DataFrameReader
from pyspark.sql import functions as f

from compat_tests.harness.ours import Pykbroker
from pykbroker.lake.direct.source import register
from pykbroker.lake.spark_session import SparkOptions, start_session
from scripts.bench_lake_job import ready
from scripts.bench_lake_job.processor_time import processor_seconds
from scripts.jars import jars


class Query(NamedTuple):
    """A query, and the schema of the columns that it needs; None is all of them. ``run`` returns how many rows it saw."""

    name: str
    schema: str | None
    run: Callable[[DataFrame], int | None]


class Taken(NamedTuple):
    seconds: float
    processor_s: float


def _sums(rows: DataFrame) -> int:
    wanted = f.count("*").alias("rows"), f.sum("offset"), f.sum(f.length("value")), f.max("key")
    return rows.agg(*wanted).collect()[0].rows


def _lengths(rows: DataFrame) -> int:
    return rows.agg(f.count("*").alias("rows"), f.sum(f.length("value"))).collect()[0].rows


def _thrown_away(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


QUERIES = (
    Query("count", "offset BIGINT", lambda rows: rows.count()),
    Query("sum of the lengths of values", "value BINARY", _lengths),
    Query("sums over key, value and offset", "key BINARY, value BINARY, offset BIGINT", _sums),
    Query("all columns, written to nowhere", None, _thrown_away),
)


class Comparison:
    """The ready source is the bound of the direct source, without a schema and with one."""

    def __init__(self, broker: Pykbroker, given: argparse.Namespace, topic: str, partitions: int) -> None:
        self._given = given
        self._spark = start_session(
            SparkOptions(f"local[{given.cores}]", {"spark.driver.memory": "2g"}, tuple(map(str, jars("spark")))),
            (),
            broker.data_dir.parent,
        )
        register(self._spark)
        ready.register(self._spark)
        kafka = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic}
        direct = {"path": str(broker.data_dir), "subscribe": topic}
        rows = {"records": str(given.records), "bytes": str(given.value_bytes), "tasks": str(partitions)}
        self._sources = {"Kafka source": ("kafka", kafka), "direct source": ("pykbroker", direct), "rows that are ready": ("ready", rows)}  # fmt: skip

    def run(self) -> None:
        print(
            "| query | source | records/s | CPU, microseconds a record | CPU, Kafka source's / its own |\n|---|---|---:|---:|---:|"
        )
        for query in QUERIES:
            self._print(query, self._measured(query))
        self._spark.stop()
        print()

    def _measured(self, query: Query) -> dict[str, list[Taken]]:
        found: dict[str, list[Taken]] = {}
        for round_ in range(self._given.rounds + 1):
            for name in self._sources:
                for schema in dict.fromkeys((None, query.schema if name != "Kafka source" else None)):
                    taken = self._once(query, self._reader(name, schema))
                    if round_:  # the first run warms up
                        found.setdefault(f"{name}, with a schema" if schema else name, []).append(taken)
        return found

    def _reader(self, name: str, schema: str | None) -> DataFrameReader:
        form, options = self._sources[name]
        reader = self._spark.read.format(form).options(**options)
        return reader.schema(schema) if schema else reader

    def _once(self, query: Query, reader: DataFrameReader) -> Taken:
        processor, begun = processor_seconds(), time.perf_counter()
        seen = query.run(reader.load())
        taken = Taken(time.perf_counter() - begun, processor_seconds() - processor)
        if seen not in (None, self._given.records):
            raise SystemExit(f"{query.name} saw {seen} of {self._given.records} records")
        return taken

    def _print(self, query: Query, found: dict[str, list[Taken]]) -> None:
        cost = {name: statistics.median(each.processor_s for each in taken) for name, taken in found.items()}
        for name, taken in found.items():
            rate = self._given.records / statistics.median(each.seconds for each in taken)
            micros = cost[name] / self._given.records * 1e6
            ratio = cost["Kafka source"] / cost[name]
            print(f"| {query.name} | {name} | {rate:,.0f} | {micros:.2f} | {ratio:.1f} |", flush=True)
