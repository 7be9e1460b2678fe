"""One Spark session for all of these tests; a folder and fresh topics for each."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from compat_tests.harness import short_spark
from compat_tests.spark.kafka_source import KafkaSource
from compat_tests.spark.session import start_session
from compat_tests.spark.topics import Topics

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # PySpark leaves the sockets it collects rows from to the garbage collector.
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with short_spark.names_remembered():
        session = start_session(tmp_path_factory.mktemp("spark"))
        yield session
        session.stop()
    gc.collect()  # what PySpark left open is closed here, where the warnings about it are expected


@pytest.fixture(scope="package")
def topics(bootstrap: str) -> Topics:
    return Topics(bootstrap)


@pytest.fixture(scope="package")
def source(spark: SparkSession, bootstrap: str) -> KafkaSource:
    return KafkaSource(spark, bootstrap)
