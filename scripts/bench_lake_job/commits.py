"""Measures what a batch costs beside its rows: the commits of each table format, and of Iceberg's the second one."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from pykbroker.lake.description import Format
from pykbroker.lake.hadoop_folder import Folder
from pykbroker.lake.lake import TABLES
from pykbroker.lake.spark_session import SparkOptions, start_session
from pykbroker.lake.tables.iceberg import IcebergTable
from scripts.bench_lake_job.processor_time import processor_seconds
from scripts.jars import jars

_WARM = 5
Cost = tuple[float, float]
"""Milliseconds on the clock, and of processor time."""


class TwoCommits(IcebergTable):
    """Measures the two commits of a batch apart from each other."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.costs: dict[str, list[Cost]] = {"Iceberg: staged": [], "Iceberg: published": []}

    def _staged(self, rows: DataFrame, batch: int) -> int:
        with _measured(self.costs["Iceberg: staged"]):
            return super()._staged(rows, batch)

    def _publish(self, staged: int, batch: int) -> None:
        with _measured(self.costs["Iceberg: published"]):
            super()._publish(staged, batch)


@contextmanager
def _measured(into: list[Cost]) -> Iterator[None]:
    processor, begun = processor_seconds(), time.perf_counter()
    yield
    into.append(((time.perf_counter() - begun) * 1000, (processor_seconds() - processor) * 1000))


def commits(given: argparse.Namespace) -> None:
    """Append batches of one row to a table of each format, in turns, and print what each took."""
    with tempfile.TemporaryDirectory(prefix="bench-lake-") as place:
        files = tuple(map(str, jars("spark") + jars("lake")))
        spark = start_session(SparkOptions(f"local[{given.cores}]", {}, files), tuple(Format), Path(place))
        tables = {form: (TwoCommits if form is Format.ICEBERG else TABLES[form])(spark, Folder(spark, f"{place}/{form}")) for form in Format}  # fmt: skip
        row = spark.sql("SELECT 't' AS topic, 0 AS partition, 7L AS offset, DATE'2026-01-31' AS date")
        costs: dict[str, list[Cost]] = {}
        for batch in range(given.commits + _WARM):
            for form, table in tables.items():
                rows = table.empty().unionByName(row, allowMissingColumns=True)
                with _measured(costs.setdefault(f"{form}: a batch of one row", [])):
                    table.append(rows, batch)
        iceberg = tables[Format.ICEBERG]
        assert isinstance(iceberg, TwoCommits)
        _print(costs | iceberg.costs, given.commits)
        spark.stop()


def _print(costs: dict[str, list[Cost]], count: int) -> None:
    print(f"medians of {count} batches\n\n| step | milliseconds | of processor time, on average |\n|---|---:|---:|")
    for name, found in costs.items():
        warm = found[_WARM:]
        clock, processor = statistics.median(each[0] for each in warm), statistics.mean(each[1] for each in warm)
        print(f"| {name} | {clock:,.0f} | {processor:,.0f} |", flush=True)
