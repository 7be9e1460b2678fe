"""Spark's Kafka sink, batch and streaming. What it wrote is read back with librdkafka, not with Spark.

The sink is at least once by design: it has no transactions in any version of Spark, so none are tested.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from compat_tests.spark.kafka_source import KafkaSource, await_that, batches
from compat_tests.spark.topics import Topics


def write(frame: DataFrame, bootstrap: str, **options: str) -> None:
    frame.write.format("kafka").option("kafka.bootstrap.servers", bootstrap).options(**options).save()


def numbered(spark: SparkSession, count: int, columns: str) -> DataFrame:
    """A frame of ``count`` rows; ``columns`` are expressions of ``id``, separated by ``;``."""
    return spark.range(0, count, numPartitions=2).selectExpr(*columns.split(";"))


class TestBatch:
    def test_keys_values_and_headers(self, spark: SparkSession, bootstrap: str, topics: Topics) -> None:
        topic = topics.create()
        frame = spark.sql(
            "SELECT 'k' AS key, 'v' AS value, array("
            "named_struct('key', 'a', 'value', CAST('1' AS BINARY)), "
            "named_struct('key', 'a', 'value', CAST(NULL AS BINARY))) AS headers "
        )
        write(frame, bootstrap, topic=topic, includeHeaders="true")
        (message,) = topics.receive(topic)
        assert (message.key(), message.value()) == (b"k", b"v")
        assert message.headers() == [("a", b"1"), ("a", None)]

    def test_partition_column_and_topic_column(self, spark: SparkSession, bootstrap: str, topics: Topics) -> None:
        first, second = topics.create(3), topics.create(3)
        columns = (
            f"CAST(id AS STRING) AS value;CAST(id % 3 AS INT) AS partition;IF(id < 50, '{first}', '{second}') AS topic"
        )
        write(numbered(spark, 100, columns), bootstrap)
        for topic, start in ((first, 0), (second, 50)):
            found = topics.receive(topic)
            assert sorted(int(message.value() or b"") for message in found) == list(range(start, start + 50))
            assert all(int(message.value() or b"") % 3 == message.partition() for message in found)

    def test_topic_option_wins_over_the_column(self, spark: SparkSession, bootstrap: str, topics: Topics) -> None:
        named, absent = topics.create(), topics.fresh_name("never")
        write(numbered(spark, 5, f"CAST(id AS STRING) AS value;'{absent}' AS topic"), bootstrap, topic=named)
        assert len(topics.receive(named)) == 5
        assert absent not in topics.names()

    def test_equal_keys_go_to_equal_partitions_as_in_other_clients(
        self, spark: SparkSession, bootstrap: str, topics: Topics
    ) -> None:
        topic = topics.create(4)
        write(
            numbered(spark, 200, "CAST(id % 20 AS STRING) AS key;CAST(id AS STRING) AS value"), bootstrap, topic=topic
        )
        homes: dict[bytes | str | None, set[int | None]] = {}
        for message in topics.receive(topic):
            homes.setdefault(message.key(), set()).add(message.partition())
        assert len(homes) == 20
        assert all(len(partitions) == 1 for partitions in homes.values())

    def test_null_values_are_tombstones(self, spark: SparkSession, bootstrap: str, topics: Topics) -> None:
        topic = topics.create(cleanup_policy="compact")
        write(spark.sql("SELECT 'gone' AS key, CAST(NULL AS STRING) AS value"), bootstrap, topic=topic)
        (message,) = topics.receive(topic)
        assert (message.key(), message.value()) == (b"gone", None)

    def test_the_topic_is_made_on_first_write(self, spark: SparkSession, bootstrap: str, topics: Topics) -> None:
        topic = topics.fresh_name("auto")
        write(numbered(spark, 10, "CAST(id AS STRING) AS value"), bootstrap, topic=topic)
        assert len(topics.receive(topic)) == 10

    @pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
    def test_codecs_of_the_java_client(
        self, spark: SparkSession, bootstrap: str, topics: Topics, source: KafkaSource, codec: str
    ) -> None:
        topic = topics.create()
        frame = numbered(spark, 500, "CAST(id AS STRING) AS value")
        write(frame, bootstrap, topic=topic, **{"kafka.compression.type": codec, "kafka.linger.ms": "20"})
        assert sorted(int(message.value() or b"") for message in topics.receive(topic)) == list(range(500))

    @pytest.mark.parametrize("acks", ["0", "1", "all"])
    def test_acks_without_idempotence(self, spark: SparkSession, bootstrap: str, topics: Topics, acks: str) -> None:
        topic = topics.create()
        options = {"kafka.acks": acks, "kafka.enable.idempotence": "false"}
        write(numbered(spark, 50, "CAST(id AS STRING) AS value"), bootstrap, topic=topic, **options)
        assert len(topics.receive(topic)) == 50

    def test_a_record_that_is_too_large(self, spark: SparkSession, bootstrap: str, topics: Topics) -> None:
        topic = topics.create(max_message_bytes="2000")
        with pytest.raises(Py4JJavaError, match="RecordTooLargeException"):
            write(spark.sql("SELECT repeat('x', 5000) AS value"), bootstrap, topic=topic)
        assert topics.receive(topic) == []

    def test_a_keyless_record_for_a_compacted_topic(self, spark: SparkSession, bootstrap: str, topics: Topics) -> None:
        topic = topics.create(cleanup_policy="compact")
        with pytest.raises(Py4JJavaError, match="InvalidRecordException"):
            write(spark.sql("SELECT 'x' AS value"), bootstrap, topic=topic)

    def test_a_partition_the_topic_does_not_have(self, spark: SparkSession, bootstrap: str, topics: Topics) -> None:
        topic = topics.create(1)
        frame = spark.sql("SELECT 'x' AS value, 7 AS partition")
        with pytest.raises(Py4JJavaError, match="not present in metadata"):
            write(frame, bootstrap, topic=topic, **{"kafka.max.block.ms": "1000"})


class TestStream:
    def start(self, frame: DataFrame, bootstrap: str, folder: Path, topic: str, **trigger: object):
        writer = frame.writeStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("topic", topic)
        return writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(**trigger).start()

    def test_from_topic_to_topic(self, source: KafkaSource, bootstrap: str, topics: Topics, tmp_path: Path) -> None:
        left, right = topics.create(2), topics.create(3)
        for partition in range(2):
            topics.send(left, range(partition * 100, partition * 100 + 100), partition, headers=[("h", b"1")], key=b"k")
        for _ in range(2):  # the second run finds nothing to do
            frame = source.stream(subscribe=left, startingOffsets="earliest", includeHeaders="true").selectExpr(
                "key", "value", "headers", "CAST(offset % 3 AS INT) AS partition"
            )
            query = self.start(frame, bootstrap, tmp_path, right, availableNow=True)
            assert query.awaitTermination(60)
        found = topics.receive(right)
        assert sorted(int(message.value() or b"") for message in found) == list(range(200))
        assert {message.partition() for message in found} == {0, 1, 2}
        assert all(message.headers() == [("h", b"1")] for message in found)

    def test_an_aggregate_in_update_mode(
        self, source: KafkaSource, bootstrap: str, topics: Topics, tmp_path: Path
    ) -> None:
        """Every change of a count is a record with the group as its key; the last one of each key is the truth."""
        words, counts = topics.create(), topics.create(cleanup_policy="compact")
        stream = source.stream(subscribe=words, startingOffsets="earliest")
        frame = stream.groupBy("value").count().selectExpr("value AS key", "CAST(count AS STRING) AS value")
        writer = frame.writeStream.format("kafka").outputMode("update").option("topic", counts)
        writer = writer.option("kafka.bootstrap.servers", bootstrap).trigger(processingTime="50 milliseconds")
        topics.send(words, ["a", "b", "a"])
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        try:
            await_that(lambda: len(batches(query)) == 1, query)
            topics.send(words, ["b", "c"])
            await_that(lambda: len(batches(query)) == 2, query)
        finally:
            query.stop()
        found = [(message.key(), message.value()) for message in topics.receive(counts)]
        assert len(found) == 4
        assert dict(found) == {b"a": b"2", b"b": b"2", b"c": b"1"}
