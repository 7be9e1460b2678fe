"""The Spark session of a command: the jars that a job needs, settings that keep records unchanged, and a log in a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pyspark
from py4j.java_gateway import JavaPackage
from pyspark.sql import SparkSession

from pykbroker.lake.description import Format
from pykbroker.lake.errors import LakeError, Missing
from pykbroker.lake.spark_log import LOG, logging_to, output_to
from pykbroker.lake.spark_versions import connector, packages

CONNECTOR = connector(pyspark.__version__)
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
#: What Spark's resolver says if a package is not found, or its jar is not.
_UNRESOLVED = ("unresolved dependency", "download failed", "[NOT FOUND ")
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
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",  # Delta lists files to vacuum in so many tasks; 10,000 by default
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
        found["spark.jars.packages"] = ",".join(packages(pyspark.__version__, tables))
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
    failed = None
    for attempt in _attempts(wanted, tables, folder):
        try:
            return _started(attempt, log)
        except Exception as error:
            said, failed = _end_of(log), error
            if "spark.jars.packages" not in wanted or not any(sign in said for sign in _UNRESOLVED):
                raise LakeError(f"Spark did not start: {error}\nThe end of its log:\n{said}") from error
    raise LakeError(
        f"Spark's resolver did not find {wanted['spark.jars.packages']} (or what they need): --jars (or PYKBROKER_SPARK_JARS) names files that "
        f"you have.\nThe end of its log:\n{_end_of(log)}"
    ) from failed


def _attempts(wanted: Mapping[str, str], tables: Collection[Format], folder: Path) -> Iterator[dict[str, str]]:
    """The settings to start with; as long as the resolver does not find a package, those with another resolver or another connector."""
    yield dict(wanted)
    central = {**wanted, "spark.jars.ivySettings": wanted.get("spark.jars.ivySettings") or str(only_central(folder))}
    yield central
    other = ",".join(packages(pyspark.__version__, tables, whole=True))
    if wanted["spark.jars.packages"] == ",".join(packages(pyspark.__version__, tables)) != other:
        yield {**central, "spark.jars.packages": other}


def _started(wanted: Mapping[str, str], log: Path) -> SparkSession:
    builder = SparkSession.Builder().appName("pykbroker lake")
    for name, value in wanted.items():
        builder = builder.config(name, value)
    with output_to(log):
        return builder.getOrCreate()


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-1500:] if log.exists() else ""


def only_central(folder: Path) -> Path:
    """Settings of Spark's resolver, Ivy, with Maven Central alone, in a file in ``folder``. Spark's own look first into Maven's local folder, and
    fail if this has the description of a package without its jar, as Maven leaves it where only the description was needed.
    """
    root = os.environ.get("DEFAULT_ARTIFACT_REPOSITORY", "https://repo1.maven.org/maven2/")  # as Spark's own settings
    file = folder / "ivysettings.xml"
    file.write_text(
        '<ivysettings><settings defaultResolver="central"/><resolvers>'
        f'<ibiblio name="central" m2compatible="true" root={quoteattr(root)}/></resolvers></ivysettings>\n'
    )
    return file


def check_jars(spark: SparkSession, table: Format) -> None:
    """Raises Missing if Spark does not have the classes of the table's format."""
    if table in EXTENSIONS:
        need_class(spark, EXTENSIONS[table], packages(pyspark.__version__, [table])[-1])


def need_class(spark: SparkSession, name: str, package: str) -> None:
    """Raises Missing if Spark has no class of this name, which is in ``package``."""
    if isinstance(reduce(getattr, name.split("."), spark._jvm), JavaPackage):  # noqa: SLF001 - the only way to Java's classes
        raise Missing(
            f"Spark was started without {package}: name its jars, too, with --jars (or PYKBROKER_SPARK_JARS), or name none and "
            "Spark downloads them; with spark-submit, --packages names it."
        )
