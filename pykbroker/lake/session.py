"""The Spark session of a command: the jars that a job needs, settings that keep records to the bit, and a log that is a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from pykbroker.lake.description import Format
from pykbroker.lake.spark_log import logging_to, standard_error_to
from pykbroker.lake.trouble import LakeError

#: What Spark downloads from Maven Central at its first start where no jars are given.
CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
PACKAGES = {
    Format.DELTA: "io.delta:delta-spark_2.13:4.0.0",
    Format.ICEBERG: "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0",
}
EXTENSIONS = {
    Format.DELTA: "io.delta.sql.DeltaSparkSessionExtension",
    Format.ICEBERG: "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}
_DELTA_CATALOG = {"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"}
#: Times are in UTC, and written as they are, in what every reader of Parquet knows.
_EXACT = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
}
_JAVA = "spark.driver.extraJavaOptions"
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
#: Half of what Spark's own choice, snappy, takes of JSON; every reader of Parquet knows it. Iceberg has it by itself.
_COMPRESSED = {"spark.sql.parquet.compression.codec": "zstd"}
#: Spark's own numbers are for clusters: two hundred tasks for a join, fifty for reading Delta's log.
_ON_THIS_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "16",
    "spark.databricks.delta.snapshotPartitions": "4",
}


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Where Spark runs, and what a person has said of it. Without ``jars``, they are downloaded."""

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    jars: tuple[str, ...] = ()


def settings(options: SparkOptions, tables: Collection[Format], scratch: Path, *, submitted: bool) -> dict[str, str]:
    """What the session is told; on this machine Spark has its files in ``scratch``.

    Where spark-submit has started us, the master and the jars are its own affair.
    """
    found = _QUIET | _COMPRESSED | (_DELTA_CATALOG if Format.DELTA in tables else {})
    if extensions := [EXTENSIONS[table] for table in tables if table in EXTENSIONS]:
        found["spark.sql.extensions"] = ",".join(extensions)
    if options.jars:
        found["spark.jars"] = ",".join(options.jars)
    elif not submitted:
        found["spark.jars.packages"] = ",".join(
            [CONNECTOR, *(PACKAGES[table] for table in tables if table in PACKAGES)]
        )
    if options.master or not submitted:
        found["spark.master"] = options.master or "local[*]"
    if found.get("spark.master", "").startswith("local"):
        found |= {**_ON_THIS_MACHINE, "spark.local.dir": str(scratch)}
    return found | dict(options.conf) | _EXACT


def start_session(options: SparkOptions, tables: Collection[Format], folder: Path) -> SparkSession:
    """A session for tables of these formats; Parquet needs nothing. ``folder``, which is to outlive it, has its log, and on this
    machine what Spark keeps on disk while it runs.

    Raises LakeError with the end of the log where it does not start.
    """
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    wanted = settings(options, tables, folder, submitted=submitted)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    log = folder / "spark.log"
    if not submitted:
        given = wanted.get(_JAVA, "")
        wanted[_JAVA] = f"{logging_to(log)} -Djava.io.tmpdir={folder} {given}".rstrip()
    builder = SparkSession.Builder().appName("pykbroker lake")
    for name, value in wanted.items():
        builder = builder.config(name, value)
    try:
        with standard_error_to(log):
            return builder.getOrCreate()
    except Exception as error:
        said = log.read_text(errors="replace")[-1500:] if log.exists() else ""
        raise LakeError(f"Spark did not start: {error}\nThe end of its log:\n{said}") from error
