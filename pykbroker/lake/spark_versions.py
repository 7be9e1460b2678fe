"""The versions of Spark that the lake runs on, and the packages that each of them needs. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from pykbroker.lake.description import Format
from pykbroker.lake.errors import Missing


class SparkReleases(NamedTuple):
    """The releases of Spark with the same first two numbers. Of the connector, Maven has no later patch than ``newest_patch``.

    Registries that lack a package of that one (the token provider, most often) have all of ``whole_patch``, which runs on every patch of the line.
    """

    newest_patch: int
    whole_patch: int
    delta: str
    iceberg: str


LINES = {
    (4, 0): SparkReleases(
        4, 0, "io.delta:delta-spark_2.13:4.0.0", "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0"
    ),
    (4, 1): SparkReleases(
        3, 1, "io.delta:delta-spark_4.1_2.13:4.1.0", "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0"
    ),
}
SUPPORTED = "4.0 and 4.1"
#: Names of jars that say which line of Spark they are for. Delta Lake's say it from 4.1 on.
_OF_A_LINE = re.compile(
    r"^(?:spark-sql-kafka-0-10_2\.13-|iceberg-spark-runtime-|delta-spark_|delta-spark_2\.13-(?=4\.0\.))(\d+\.\d+)[._]"
)


def line_of(version: str) -> SparkReleases:
    """The line of a version of PySpark. Raises Missing if the lake does not run on it."""
    found = LINES.get(_numbers(version)[:2])
    if found is None:
        raise Missing(
            f"PySpark {version} is installed, and the lake runs on Spark {SUPPORTED}: pip install 'pyspark==4.0.0' brings one."
        )
    return found


def connector(version: str) -> str:
    """Spark's Kafka connector for a version of PySpark: the same version, or the newest of its line."""
    major, minor, patch = _numbers(version)
    return _connector(f"{major}.{minor}.{min(patch, line_of(version).newest_patch)}")


def packages(version: str, tables: Collection[Format], *, whole: bool = False) -> list[str]:
    """What Spark downloads from Maven Central if no jars are given: the connector (with ``whole`` the one that no registry has a part of only),
    and the table formats.
    """
    line = line_of(version)
    major, minor, _ = _numbers(version)
    formats = {Format.DELTA: line.delta, Format.ICEBERG: line.iceberg}
    first = _connector(f"{major}.{minor}.{line.whole_patch}") if whole else connector(version)
    return [first, *(formats[table] for table in tables if table in formats)]


def need_jars_of(version: str, jars: Collection[str]) -> None:
    """Raises Missing for a jar whose name says that it is for another line of Spark: Spark would start, and end in Java's words on the way."""
    line_of(version)
    line = "{}.{}".format(*_numbers(version))
    for jar in jars:
        found = _OF_A_LINE.search(jar.rpartition("/")[2])
        if found is not None and found[1] != line:
            wanted = ", ".join(packages(version, list(Format)))
            raise Missing(f"{jar} is for Spark {found[1]}, and PySpark {version} is installed. It takes {wanted}.")


def _connector(version: str) -> str:
    return f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version}"


def _numbers(version: str) -> tuple[int, int, int]:
    """4, 1, 2 for ``4.1.2`` and ``4.1.2.dev0``."""
    found = [int(each) for each in re.findall(r"\d+", version)[:3]]
    major, minor, patch = [*found, 0, 0, 0][:3]
    return major, minor, patch
