"""The settings of a session; skipped where PySpark is not installed, for their module imports it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

import pyspark

from pykbroker.lake.description import Format
from pykbroker.lake.spark_session import CONNECTOR, SparkOptions, settings
from pykbroker.lake.spark_versions import packages

SCRATCH = Path("/scratch")


def test_without_jars_they_are_downloaded_and_each_format_has_its_own() -> None:
    plain = settings(SparkOptions(), (Format.PARQUET,), SCRATCH, submitted=False)
    assert plain["spark.jars.packages"] == CONNECTOR
    assert plain["spark.master"] == "local[*]"
    assert "spark.sql.extensions" not in plain
    assert plain["spark.local.dir"] == "/scratch"
    both = settings(SparkOptions(), (Format.DELTA, Format.ICEBERG), SCRATCH, submitted=False)
    assert both["spark.jars.packages"].split(",") == packages(pyspark.__version__, (Format.DELTA, Format.ICEBERG))
    assert both["spark.sql.extensions"].count(",") == 1


def test_what_a_person_says_counts_but_for_what_keeps_records_exact() -> None:
    conf = {"spark.sql.shuffle.partitions": "3", "spark.sql.session.timeZone": "Asia/Tokyo"}
    found = settings(SparkOptions("local[1]", conf, ("a.jar", "b.jar")), (), SCRATCH, submitted=False)
    assert found["spark.jars"] == "a.jar,b.jar"
    assert "spark.jars.packages" not in found
    assert (found["spark.sql.shuffle.partitions"], found["spark.sql.session.timeZone"]) == ("3", "UTC")


def test_under_spark_submit_master_and_jars_are_its_affair() -> None:
    found = settings(SparkOptions(), (Format.DELTA,), SCRATCH, submitted=True)
    assert (
        found.keys() & {"spark.master", "spark.jars", "spark.jars.packages", "spark.driver.host", "spark.local.dir"}
        == set()
    )
