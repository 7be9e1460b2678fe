"""One Spark session for all of these tests, with the jars of Delta Lake and Iceberg; each lake has its own folder."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from compat_tests.conftest import takes_long
from compat_tests.harness import short_spark
from compat_tests.lake.workshop import Workshop
from compat_tests.spark.topics import Topics
from pykbroker.lake.description import Format
from pykbroker.lake.spark_session import SparkOptions, start_session
from scripts.jars import jars

HERE = Path(__file__).parent
SMALL = {
    **short_spark.SETTINGS,
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": short_spark.JAVA,
    "spark.sql.streaming.pollingDelay": "10ms",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # PySpark leaves the sockets it collects rows from to the garbage collector.
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


def end_java() -> None:
    """PySpark keeps its Java process after the session, with the classes that it was started with."""
    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.terminate()
        gateway.proc.communicate()  # and its pipe is closed
        SparkContext._gateway = SparkContext._jvm = None


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    folder = tmp_path_factory.mktemp("spark")
    places = {"spark.local.dir": str(folder / "local"), "spark.sql.warehouse.dir": str(folder / "warehouse")}
    files = tuple(map(str, jars("spark") + jars("lake")))
    end_java()  # another suite's, which has no jars of tables
    with short_spark.names_remembered():
        session = start_session(SparkOptions("local[2]", {**SMALL, **places}, files), tuple(Format), folder)
        yield session
        session.stop()
    end_java()
    gc.collect()  # what PySpark left open is closed here, where the warnings about it are expected


@pytest.fixture(scope="package")
def topics(bootstrap: str) -> Topics:
    return Topics(bootstrap)


@pytest.fixture(params=list(Format))
def form(request: pytest.FixtureRequest) -> Format:
    return request.param


@pytest.fixture(params=[each if each is Format.PARQUET else pytest.param(each, marks=takes_long) for each in Format])
def long_form(request: pytest.FixtureRequest) -> Format:
    """The format of a test that takes long with each and asks little of the table: plain files, and with PYKBROKER_LONG the others."""
    return request.param


@pytest.fixture(params=[pytest.param(each, marks=takes_long) if each is Format.DELTA else each for each in Format])
def reader_form(request: pytest.FixtureRequest) -> Format:
    """The format of a test that asks how files are read: Delta's with PYKBROKER_LONG alone, since Spark reads them as it does plain ones."""
    return request.param


@pytest.fixture
def make(spark: SparkSession, bootstrap: str, tmp_path: Path) -> Callable[..., Workshop]:
    """Makes a workshop: the lake and the jobs of one test."""
    return lambda form=Format.PARQUET: Workshop(spark, bootstrap, tmp_path / "lake", form)
