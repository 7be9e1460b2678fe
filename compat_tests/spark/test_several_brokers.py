"""Spark against one pykbroker process that runs three brokers: leaders are spread, so Spark must ask each for its own.

Apache Kafka is left out here: its fixture is one node.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from compat_tests.harness.ours import Pykbroker
from compat_tests.spark.kafka_source import KafkaSource, await_that, batches, places, run
from compat_tests.spark.topics import Topics


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pykbroker]:
    broker = Pykbroker(tmp_path_factory.mktemp("three"), brokers=3)
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def topics(three: Pykbroker) -> Topics:
    return Topics(three.bootstrap)


@pytest.fixture
def source(spark: SparkSession, three: Pykbroker) -> KafkaSource:
    return KafkaSource(spark, three.bootstrap)


def test_batch_write_and_read_over_three_leaders(
    spark: SparkSession, source: KafkaSource, topics: Topics, three: Pykbroker
) -> None:
    topic = topics.create(6)
    assert set(topics.leaders(topic)) == set(three.addresses)
    frame = spark.range(600).selectExpr("CAST(id AS STRING) AS value", "CAST(id % 6 AS INT) AS partition")
    frame.write.format("kafka").option("kafka.bootstrap.servers", three.bootstrap).option("topic", topic).save()
    found = places(source.batch(subscribe=topic))
    assert [(place.partition, place.offset) for place in found] == [(p, o) for p in range(6) for o in range(100)]
    assert {int(place.value) for place in found} == set(range(600))


def test_a_stream_over_three_leaders_after_a_kill(
    source: KafkaSource, topics: Topics, three: Pykbroker, tmp_path: Path
) -> None:
    topic = topics.create(6)
    for partition in range(6):
        topics.send(topic, range(50), partition)
    stream = source.stream(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=60)
    query = run(stream, tmp_path, processingTime="50 milliseconds")
    try:
        await_that(lambda: len(batches(query)) >= 2, query)
        three.kill()
        three.start()
        for partition in range(6):
            topics.send(topic, range(50, 60), partition)
        await_that(lambda: sum(report["numInputRows"] for report in batches(query)) >= 360, query, 90)
    finally:
        query.stop()
    found = [(place.partition, place.offset) for place in source.stored(tmp_path)]
    assert found == [(partition, offset) for partition in range(6) for offset in range(60)]
