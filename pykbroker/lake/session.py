"""The Spark session of a command: the jars that a job needs, settings that keep records unchanged, and a log in a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path

from py4j.java_gateway import JavaPackage
from pyspark.sql import SparkSession

from pykbroker.lake.description import Format
from pykbroker.lake.spark_log import LOG, logging_to, standard_error_to
from pykbroker.lake.trouble import LakeError, Missing

#: The packages that Spark downloads from Maven Central at its first start if no jars are given.
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
#: Timestamps are in UTC and are written unchanged, in the encoding that all readers of Parquet understand. A damaged page is an error.
_EXACT = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
}
_JAVA = "spark.driver.extraJavaOptions"
#: Spark's Kafka source passes timestamps through java.sql.Timestamp: in the machine's zone, those before 1900 would be moved by minutes.
_IN_UTC = "-Duser.timezone=UTC"
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
#: JSON takes half as much as with snappy, Spark's default; all readers of Parquet understand it. It is Iceberg's default.
_COMPRESSED = {"spark.sql.parquet.compression.codec": "zstd"}
#: Spark's defaults are for clusters: 200 tasks for a join, 50 for reading Delta's log.
_ON_THIS_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "16",
    "spark.databricks.delta.snapshotPartitions": "4",
}


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Where Spark runs, and settings from the command line. Without ``jars``, the packages are downloaded."""

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    jars: tuple[str, ...] = ()


def settings(options: SparkOptions, tables: Collection[Format], scratch: Path, *, submitted: bool) -> dict[str, str]:
    """The session's settings. With a local master, Spark keeps its files in ``scratch``.

    If spark-submit has started the process (``submitted``), it determines the master and the jars.
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
    """Start a session for tables of these formats. ``folder`` gets Spark's log and, with a local master, its files on disk; it must
    outlive the session.

    Raises LakeError, with the end of the log, if Spark does not start.
    """
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    wanted = settings(options, tables, folder, submitted=submitted)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    log = folder / LOG
    if not submitted:
        given = wanted.get(_JAVA, "")
        wanted[_JAVA] = f"{logging_to(log)} -Djava.io.tmpdir={folder} {_IN_UTC} {given}".rstrip()
    builder = SparkSession.Builder().appName("pykbroker lake")
    for name, value in wanted.items():
        builder = builder.config(name, value)
    try:
        with standard_error_to(log):
            return builder.getOrCreate()
    except Exception as error:
        said = log.read_text(errors="replace")[-1500:] if log.exists() else ""
        raise LakeError(f"Spark did not start: {error}\nThe end of its log:\n{said}") from error


def check_jars(spark: SparkSession, table: Format) -> None:
    """Raises Missing if Spark does not have the classes of the table's format."""
    if table in EXTENSIONS:
        need_class(spark, EXTENSIONS[table], PACKAGES[table])


def need_class(spark: SparkSession, name: str, package: str) -> None:
    """Raises Missing if Spark has no class of this name, which is in ``package``."""
    if isinstance(reduce(getattr, name.split("."), spark._jvm), JavaPackage):  # noqa: SLF001 - the only way to Java's classes
        raise Missing(
            f"Spark was started without {package}: name its jars, too, with --jars (or PYKBROKER_SPARK_JARS), or name none and "
            "Spark downloads them; with spark-submit, --packages names it."
        )
