"""Offsets that are gone: deleted records, retention, a topic deleted and made again; failOnDataLoss both ways.

With failOnDataLoss (the default) the query must stop and say what is missing; without it, it must go on with what is
there and read nothing twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from compat_tests.harness.process import BrokerProcess
from compat_tests.spark.kafka_source import KafkaSource, await_that, batches, places, run, values
from compat_tests.spark.topics import Topics

OLD = [f"old-{number}" for number in range(10)]


def numbers(start: int, stop: int) -> list[str]:
    return [str(number) for number in range(start, stop)]


class TestDeletedRecords:
    """Twenty records, of which the first eight are deleted."""

    @pytest.fixture
    def topic(self, topics: Topics) -> str:
        name = topics.create()
        topics.send(name, numbers(0, 5))
        topics.send(name, numbers(5, 20))
        return name

    def test_batch_asked_for_offsets_before_the_log_start(
        self, source: KafkaSource, topics: Topics, topic: str
    ) -> None:
        topics.delete_records(topic, 8)
        start = {topic: {"0": 3}}
        with pytest.raises(Py4JJavaError, match="Some data may have been lost"):
            source.batch(subscribe=topic, startingOffsets=start).collect()
        frame = source.batch(subscribe=topic, startingOffsets=start, failOnDataLoss="false")
        assert values(places(frame)) == numbers(8, 20)

    def test_earliest_is_the_log_start(self, source: KafkaSource, topics: Topics, topic: str) -> None:
        topics.delete_records(topic, 8)
        assert values(places(source.batch(subscribe=topic))) == numbers(8, 20)

    @pytest.mark.parametrize("fail", ["true", "false"])
    def test_stream_whose_checkpoint_is_behind_the_log_start(
        self, source: KafkaSource, topics: Topics, tmp_path: Path, fail: str
    ) -> None:
        topic = topics.create()
        topics.send(topic, numbers(0, 5))
        options = {"subscribe": topic, "startingOffsets": "earliest", "failOnDataLoss": fail}
        source.drain(tmp_path, **options)
        topics.send(topic, numbers(5, 20))
        topics.delete_records(topic, 8)
        if fail == "true":
            with pytest.raises(StreamingQueryException, match="may have been lost"):
                source.drain(tmp_path, **options)
            assert values(source.stored(tmp_path)) == numbers(0, 5)
        else:
            source.drain(tmp_path, **options)
            assert sorted(map(int, values(source.stored(tmp_path)))) == [*range(5), *range(8, 20)]

    def test_everything_deleted(self, source: KafkaSource, topics: Topics, topic: str) -> None:
        topics.delete_records(topic, -1)
        assert places(source.batch(subscribe=topic)) == []
        topics.send(topic, ["next"])
        (place,) = places(source.batch(subscribe=topic))
        assert (place.offset, place.value) == (20, "next")


class TestTopicMadeAgain:
    """A topic is deleted and made again, with a new topic id and offsets from 0, between two batches of a stream."""

    @pytest.fixture
    def topic(self, topics: Topics) -> str:
        name = topics.create()
        topics.send(name, OLD)
        return name

    def make_again(self, topics: Topics, topic: str, records: int) -> None:
        topics.delete(topic)
        topics.create(name=topic)
        topics.send(topic, [f"new-{number}" for number in range(records)])

    def test_under_a_running_stream(self, source: KafkaSource, topics: Topics, topic: str, tmp_path: Path) -> None:
        """Its consumers know the old topic id; the new records must still reach it, none twice.

        Records below the old offset may be passed over or not: that depends on whether Spark looks at the topic
        while it is empty.
        """
        stream = source.stream(subscribe=topic, startingOffsets="earliest", failOnDataLoss="false")
        query = run(stream, tmp_path, processingTime="100 milliseconds")
        try:
            await_that(lambda: len(batches(query)) == 1, query)
            self.make_again(topics, topic, 15)
            await_that(lambda: "new-14" in values(source.stored(tmp_path)), query)
        finally:
            query.stop()
        found = values(source.stored(tmp_path))
        assert len(set(found)) == len(found)
        assert set(found) >= {*OLD, *(f"new-{number}" for number in range(10, 15))}

    def test_a_longer_one_goes_on_at_the_old_offset(
        self, source: KafkaSource, topics: Topics, topic: str, tmp_path: Path
    ) -> None:
        options = {"subscribe": topic, "startingOffsets": "earliest"}
        source.drain(tmp_path, **options)
        self.make_again(topics, topic, 15)
        source.drain(tmp_path, **options)
        assert values(source.stored(tmp_path)) == [*OLD, *(f"new-{number}" for number in range(10, 15))]

    @pytest.mark.parametrize("fail", ["true", "false"])
    def test_a_shorter_one_is_a_loss(
        self, source: KafkaSource, topics: Topics, topic: str, tmp_path: Path, fail: str
    ) -> None:
        options = {"subscribe": topic, "startingOffsets": "earliest", "failOnDataLoss": fail}
        source.drain(tmp_path, **options)
        self.make_again(topics, topic, 4)
        if fail == "true":
            with pytest.raises(StreamingQueryException, match="may have been lost"):
                source.drain(tmp_path, **options)
            assert values(source.stored(tmp_path)) == OLD
        else:
            source.drain(tmp_path, **options)
            topics.send(topic, ["after"])
            source.drain(tmp_path, **options)
            assert min(values(source.stored(tmp_path))) == "after"

    def test_a_batch_read_sees_the_new_topic_only(self, source: KafkaSource, topics: Topics) -> None:
        topic = topics.create()
        topics.send(topic, numbers(0, 10))
        assert len(places(source.batch(subscribe=topic))) == 10
        topics.delete(topic)
        topics.create(2, topic)
        topics.send(topic, ["new"], 1)
        assert values(places(source.batch(subscribe=topic))) == ["new"]


def test_retention_by_time_takes_old_segments_from_a_stream(
    spark: SparkSession, start_target: Callable[..., BrokerProcess], tmp_path: Path
) -> None:
    """Old records age out while the stream is down; without failOnDataLoss it goes on at the first one left."""
    broker = start_target({"log.retention.check.interval.ms": "300", "log.initial.task.delay.ms": "300"})
    topics, source = Topics(broker.bootstrap), KafkaSource(spark, broker.bootstrap)
    topic = topics.create(segment_bytes=str(1024 * 1024), retention_ms="-1")
    old = (int(time.time()) - 86_400) * 1000
    for start in range(0, 4000, 1000):
        topics.send(topic, [f"{number}" + "." * 1200 for number in range(start, start + 1000)], timestamps=[old] * 1000)
    topics.send(topic, ["fresh"])
    options = {"subscribe": topic, "startingOffsets": "earliest", "failOnDataLoss": "false", "maxOffsetsPerTrigger": 10}
    query = run(source.stream(**options), tmp_path, processingTime="100 milliseconds")
    await_that(lambda: len(batches(query)) > 0, query)
    query.stop()
    read = len(source.stored(tmp_path))
    assert 0 < read < 3000
    topics.configure(topic, retention_ms="3600000")
    deadline = time.monotonic() + 120
    while (kept := topics.log_start(topic)) < 3000:
        assert time.monotonic() < deadline, f"retention has not moved the log start offset, it is {kept}"
        time.sleep(0.1)
    source.drain(tmp_path, **{**options, "maxOffsetsPerTrigger": 10_000})
    assert [place.offset for place in source.stored(tmp_path)] == [*range(read), *range(kept, 4001)]


def test_gaps_that_compaction_leaves_are_no_loss(
    spark: SparkSession, start_target: Callable[..., BrokerProcess], tmp_path: Path
) -> None:
    """Most offsets are gone, and failOnDataLoss is on: batch and stream read what is left and go on to the end."""
    broker = start_target({"log.cleaner.backoff.ms": "200", "log.initial.task.delay.ms": "200"})
    topics, source = Topics(broker.bootstrap), KafkaSource(spark, broker.bootstrap)
    topic = topics.create(
        cleanup_policy="compact", segment_bytes=str(1024 * 1024), min_cleanable_dirty_ratio="0.01", segment_ms="1000"
    )
    for round_ in range(4):
        for key in range(10):
            padded = [f"{round_}-{key}-{number}".ljust(1000, ".") for number in range(100)]
            topics.send(topic, padded, key=str(key).encode())
    deadline = time.monotonic() + 120
    while len(kept := topics.receive(topic)) > 2000:
        assert time.monotonic() < deadline, f"compaction has left {len(kept)} of 4000 records after two minutes"
        time.sleep(0.2)
    left = {message.offset() for message in kept}
    start = min(offset for offset in range(4000) if offset not in left)
    found = places(source.batch(subscribe=topic, startingOffsets={topic: {"0": start}}, minPartitions=4))
    assert found
    assert {place.offset for place in found} <= left
    assert found[-1].offset == max(left) == 3999
    reports = source.drain(tmp_path, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=500)
    assert len(reports) < 8  # batches of offsets, of which most hold no record
    last_of_each_key = {place.value.split("-")[1]: place.value.rstrip(".") for place in source.stored(tmp_path)}
    assert last_of_each_key == {str(key): f"3-{key}-99" for key in range(10)}
