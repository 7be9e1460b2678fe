from __future__ import annotations

import pytest

from pykbroker.lake.description import Format
from pykbroker.lake.errors import Missing
from pykbroker.lake.spark_versions import connector, line_of, need_jars_of, packages


@pytest.mark.parametrize(
    ("pyspark", "of_connector"),
    [
        ("4.0.0", "4.0.0"),
        ("4.0.3", "4.0.3"),
        ("4.0.5", "4.0.4"),
        ("4.1.0", "4.1.0"),
        ("4.1.4", "4.1.3"),
        ("4.1.2.dev0", "4.1.2"),
    ],
)
def test_the_connector_is_of_the_same_version_or_the_newest_of_its_line(pyspark: str, of_connector: str) -> None:
    assert connector(pyspark) == f"org.apache.spark:spark-sql-kafka-0-10_2.13:{of_connector}"


def test_each_line_has_its_own_formats() -> None:
    assert packages("4.0.5", [Format.PARQUET]) == [connector("4.0.5")]
    for version in ("4.0.5", "4.1.4"):
        _, delta, iceberg = packages(version, [Format.DELTA, Format.ICEBERG])
        assert delta == line_of(version).delta
        assert f"-{version[:3]}_2.13:" in iceberg


@pytest.mark.parametrize(("version", "whole"), [("4.0.5", "4.0.0"), ("4.1.4", "4.1.1")])
def test_where_a_registry_lacks_parts_of_a_connector_there_is_another(version: str, whole: str) -> None:
    of_connector, delta = packages(version, [Format.DELTA], whole=True)
    assert of_connector == f"org.apache.spark:spark-sql-kafka-0-10_2.13:{whole}"
    assert delta == line_of(version).delta


@pytest.mark.parametrize("version", ["3.5.9", "4.2.0", "5.0.0", "unknown"])
def test_other_versions_are_refused(version: str) -> None:
    with pytest.raises(
        Missing, match=rf"^PySpark {version} is installed, and the lake runs on Spark 4\.0 and 4\.1: pip install"
    ):
        line_of(version)


@pytest.mark.parametrize(
    ("version", "jar", "line"),
    [
        ("4.1.4", "spark-sql-kafka-0-10_2.13-4.0.0.jar", "4.0"),
        ("4.1.4", "iceberg-spark-runtime-4.0_2.13-1.10.0.jar", "4.0"),
        ("4.1.4", "delta-spark_2.13-4.0.1.jar", "4.0"),
        ("4.0.5", "delta-spark_4.1_2.13-4.1.0.jar", "4.1"),
        ("4.0.5", "iceberg-spark-runtime-3.5_2.12-1.9.0.jar", "3.5"),
    ],
)
def test_jars_for_another_line_are_refused_before_spark_starts(version: str, jar: str, line: str) -> None:
    own = [f"{name}-{number}.jar" for _, name, number in (each.split(":") for each in packages(version, list(Format)))]
    good = [*own, "delta-spark_2.13-4.3.1.jar", "https://elsewhere/spark-token-provider-kafka-0-10_2.13-4.0.0.jar"]
    said = rf"^/jars/{jar} is for Spark {line}, and PySpark {version} is installed\. It takes org\.apache\.spark:.*"
    with pytest.raises(Missing, match=f"{said}{line_of(version).delta}, {line_of(version).iceberg}"):
        need_jars_of(version, [*good, f"/jars/{jar}"])
