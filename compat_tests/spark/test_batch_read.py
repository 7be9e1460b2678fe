"""Spark's Kafka source in batch: columns, every form of offsets, how partitions are split, what is refused.

Covers subscribe, subscribePattern and assign; earliest, latest, JSON, timestamp forms at both ends; minPartitions and
maxRecordsPerPartition; headers; all codecs. Transactions have a file of their own.
"""

from __future__ import annotations

import datetime as dt
import time

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from compat_tests.spark.kafka_source import KafkaSource, places, values
from compat_tests.spark.topics import Topics

BASE = (int(time.time()) - 3600) * 1000  # an hour ago in epoch ms: past, but not so old that retention takes it


def numbers(start: int, stop: int) -> list[str]:
    return [str(number) for number in range(start, stop)]


def test_every_column_carries_what_was_produced(source: KafkaSource, topics: Topics) -> None:
    topic = topics.create(2)
    headers = [("trace", b"\x00\x01"), ("trace", b"again"), ("empty", None)]
    topics.send(topic, ["hello"], 1, timestamps=[BASE], headers=headers, key=b"k")
    (row,) = source.batch(subscribe=topic, includeHeaders="true").collect()
    assert (bytes(row.key), bytes(row.value), row.topic, row.partition, row.offset) == (b"k", b"hello", topic, 1, 0)
    assert row.timestamp == dt.datetime.fromtimestamp(BASE / 1000)
    assert row.timestampType == 0
    assert [(header.key, header.value and bytes(header.value)) for header in row.headers] == headers


def test_log_append_time_is_marked_and_is_the_brokers(source: KafkaSource, topics: Topics) -> None:
    topic = topics.create(message_timestamp_type="LogAppendTime")
    topics.send(topic, ["x"], timestamps=[BASE])
    (row,) = source.batch(subscribe=topic).collect()
    assert row.timestampType == 1
    assert row.timestamp > dt.datetime.fromtimestamp(BASE / 1000)


def test_null_keys_values_and_headers_stay_null(source: KafkaSource, topics: Topics) -> None:
    topic = topics.create()
    topics.send_raw(topic, None, None)
    (row,) = source.batch(subscribe=topic, includeHeaders="true").collect()
    assert (row.key, row.value, row.headers) == (None, None, None)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_each_codec_and_a_start_inside_a_batch(source: KafkaSource, topics: Topics, codec: str) -> None:
    topic = topics.create()
    topics.send(topic, numbers(0, 100), codec=codec)
    found = places(source.batch(subscribe=topic, startingOffsets={topic: {"0": 37}}, endingOffsets={topic: {"0": 90}}))
    assert values(found) == numbers(37, 90)


def test_json_offsets_with_earliest_and_latest_marks(source: KafkaSource, topics: Topics) -> None:
    topic = topics.create(3)
    for partition in range(3):
        topics.send(topic, numbers(0, 10), partition)
    start = {topic: {"0": -2, "1": 4, "2": 9}}
    end = {topic: {"0": 3, "1": -1, "2": -1}}
    found = places(source.batch(subscribe=topic, startingOffsets=start, endingOffsets=end))
    assert [(place.partition, place.offset) for place in found] == [
        *[(0, offset) for offset in range(3)],
        *[(1, offset) for offset in range(4, 10)],
        (2, 9),
    ]


def test_assign_reads_the_named_partitions_only(source: KafkaSource, topics: Topics) -> None:
    topic = topics.create(3)
    for partition in range(3):
        topics.send(topic, [f"p{partition}"], partition)
    assert values(places(source.batch(assign={topic: [0, 2]}))) == ["p0", "p2"]


def test_pattern_finds_topics_and_never_internal_ones(source: KafkaSource, topics: Topics) -> None:
    stem = topics.fresh_name("pattern")
    for suffix in ("-a", "-b", "-other"):
        topics.send(topics.create(name=stem + suffix), [suffix])
    topics.make_internal_topic()
    found = places(source.batch(subscribePattern=f"{stem}-[ab]|__consumer_offsets"))
    assert values(found) == ["-a", "-b"]


def test_empty_partitions_and_an_empty_topic(source: KafkaSource, topics: Topics) -> None:
    topic, empty = topics.create(4), topics.create(2)
    topics.send(topic, ["only"], 2)
    assert values(places(source.batch(subscribe=f"{topic},{empty}"))) == ["only"]
    assert places(source.batch(subscribe=empty)) == []


class TestTimestamps:
    """Ten records a second apart; lookups give the first record at or after the time."""

    @pytest.fixture
    def topic(self, topics: Topics) -> str:
        name = topics.create(2)
        for partition in range(2):
            topics.send(name, numbers(0, 10), partition, timestamps=[BASE + 1000 * n for n in range(10)])
        return name

    def test_starting_and_ending_timestamp(self, source: KafkaSource, topic: str) -> None:
        frame = source.batch(subscribe=topic, startingTimestamp=BASE + 2500, endingTimestamp=BASE + 6000)
        assert values(places(frame)) == numbers(3, 6) * 2

    def test_by_timestamp_per_partition(self, source: KafkaSource, topic: str) -> None:
        start = {topic: {"0": BASE + 8000, "1": BASE + 1}}
        end = {topic: {"0": BASE + 90_000, "1": BASE + 3000}}  # later than the last record: to the end
        frame = source.batch(subscribe=topic, startingOffsetsByTimestamp=start, endingOffsetsByTimestamp=end)
        assert [(place.partition, place.value) for place in places(frame)] == [(0, "8"), (0, "9"), (1, "1"), (1, "2")]

    def test_no_record_that_late_is_an_error_or_latest_as_asked(self, source: KafkaSource, topic: str) -> None:
        late = {topic: {"0": BASE + 90_000, "1": BASE + 9000}}
        with pytest.raises(PySparkException, match="No offset matched from request"):
            source.batch(subscribe=topic, startingOffsetsByTimestamp=late).collect()
        frame = source.batch(
            subscribe=topic, startingOffsetsByTimestamp=late, startingOffsetsByTimestampStrategy="latest"
        )
        assert [(place.partition, place.value) for place in places(frame)] == [(1, "9")]


class TestSplitting:
    """More Spark partitions than Kafka partitions read the same records, each once."""

    @pytest.fixture
    def topic(self, topics: Topics) -> str:
        name = topics.create(2)
        topics.send(name, numbers(0, 300), 0)
        topics.send(name, numbers(300, 400), 1)
        return name

    def test_min_partitions(self, source: KafkaSource, topic: str) -> None:
        frame = source.batch(subscribe=topic, minPartitions=8)
        assert frame.rdd.getNumPartitions() >= 8
        assert values(places(frame)) == numbers(0, 400)

    def test_max_records_per_partition(self, source: KafkaSource, topic: str) -> None:
        # Spark 4.0 divides a batch read only where minPartitions asks for more than there are.
        frame = source.batch(subscribe=topic, minPartitions=3, maxRecordsPerPartition=50)
        assert frame.rdd.getNumPartitions() == 8
        assert values(places(frame)) == numbers(0, 400)


def test_read_committed_sees_records_without_transactions(source: KafkaSource, topics: Topics) -> None:
    topic = topics.create()
    topics.send(topic, numbers(0, 20))
    assert values(places(source.batch(subscribe=topic, kafka_isolation_level="read_committed"))) == numbers(0, 20)


def test_small_fetches_read_everything(source: KafkaSource, topics: Topics) -> None:
    topic = topics.create()
    for start in range(0, 40, 10):
        topics.send(topic, [f"{number:03}" + "x" * 2000 for number in range(start, start + 10)])
    frame = source.batch(subscribe=topic, kafka_max_partition_fetch_bytes=3000, kafka_max_poll_records=7)
    assert [value[:3] for value in values(places(frame))] == [f"{number:03}" for number in range(40)]


def test_a_join_and_an_aggregate_over_two_topics(source: KafkaSource, topics: Topics) -> None:
    left, right = topics.create(2), topics.create()
    topics.send(left, numbers(0, 50), 0)
    topics.send(left, numbers(50, 100), 1)
    topics.send(right, numbers(40, 60))
    one = source.batch(subscribe=left).selectExpr("CAST(value AS STRING) AS n", "partition")
    two = source.batch(subscribe=right).selectExpr("CAST(value AS STRING) AS n")
    counts = one.join(two, "n").groupBy("partition").count().collect()
    assert {row.partition: row["count"] for row in counts} == {0: 10, 1: 10}


class TestRefusals:
    def test_a_topic_that_does_not_exist(self, source: KafkaSource, topics: Topics) -> None:
        name = topics.fresh_name("absent")
        with pytest.raises(Py4JJavaError, match=r"(?i)UnknownTopicOrPartition|does not host this topic"):
            source.batch(subscribe=name).collect()
        assert name not in topics.names()

    def test_offsets_for_other_partitions_than_the_topic_has(self, source: KafkaSource, topics: Topics) -> None:
        topic = topics.create(2)
        with pytest.raises(Py4JJavaError, match="don't match what are assigned"):
            source.batch(subscribe=topic, startingOffsets={topic: {"0": 0}}).collect()

    def test_an_ending_offset_past_the_end(self, source: KafkaSource, topics: Topics) -> None:
        topic = topics.create()
        topics.send(topic, numbers(0, 5))
        with pytest.raises(Py4JJavaError, match=r"Could not read records in offset \[5, 50\)"):
            source.batch(
                subscribe=topic, endingOffsets={topic: {"0": 50}}, **{"kafkaConsumer.pollTimeoutMs": 2000}
            ).collect()
