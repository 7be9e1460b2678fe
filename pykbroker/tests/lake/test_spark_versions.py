from __future__ import annotations

import pytest

from pykbroker.lake.description import Format
from pykbroker.lake.errors import Missing
from pykbroker.lake.spark_versions import connector, line_of, packages


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
