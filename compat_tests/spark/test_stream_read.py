"""Spark's Kafka source as a stream: where it starts, how large its batches are, what it finds while it runs.

Covers every starting form, maxOffsetsPerTrigger, minOffsetsPerTrigger with maxTriggerDelay, minPartitions,
maxRecordsPerPartition, AvailableNow, processing-time triggers, partitions and topics that appear later, lag metrics.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.query import StreamingQuery

from compat_tests.spark.kafka_source import KafkaSource, await_that, batches, run, values
from compat_tests.spark.topics import Topics

BASE = (int(time.time()) - 3600) * 1000  # epoch ms


def numbers(start: int, stop: int) -> list[str]:
    return [str(number) for number in range(start, stop)]


class TestStarts:
    """Where a stream without a checkpoint begins. Ten records a second apart in each of two partitions."""

    @pytest.fixture
    def topic(self, topics: Topics) -> str:
        name = topics.create(2)
        for partition in range(2):
            topics.send(name, numbers(0, 10), partition, timestamps=[BASE + 1000 * n for n in range(10)])
        return name

    def drained(self, source: KafkaSource, folder: Path, topic: str, **options: Any) -> list[tuple[int, str]]:
        source.drain(folder, subscribe=topic, **options)
        return [(place.partition, place.value) for place in source.stored(folder)]

    def test_earliest(self, source: KafkaSource, topic: str, tmp_path: Path) -> None:
        found = self.drained(source, tmp_path, topic, startingOffsets="earliest")
        assert found == [(partition, value) for partition in (0, 1) for value in numbers(0, 10)]

    def test_json_offsets(self, source: KafkaSource, topic: str, tmp_path: Path) -> None:
        found = self.drained(source, tmp_path, topic, startingOffsets={topic: {"0": 7, "1": -1}})
        assert found == [(0, "7"), (0, "8"), (0, "9")]

    def test_timestamp(self, source: KafkaSource, topic: str, tmp_path: Path) -> None:
        found = self.drained(source, tmp_path, topic, startingTimestamp=BASE + 7500)
        assert found == [(0, "8"), (0, "9"), (1, "8"), (1, "9")]

    def test_timestamp_per_partition_and_latest_where_none_matches(
        self, source: KafkaSource, topic: str, tmp_path: Path
    ) -> None:
        found = self.drained(
            source,
            tmp_path,
            topic,
            startingOffsetsByTimestamp={topic: {"0": BASE + 90_000, "1": BASE + 8000}},
            startingOffsetsByTimestampStrategy="latest",
        )
        assert found == [(1, "8"), (1, "9")]

    def test_latest_takes_only_what_comes_after_the_start(
        self, source: KafkaSource, topics: Topics, topic: str, tmp_path: Path
    ) -> None:
        query = run(
            source.stream(subscribe=topic, startingOffsets="latest"), tmp_path, processingTime="100 milliseconds"
        )
        try:
            await_that((tmp_path / "checkpoint" / "sources" / "0" / "0").exists, query)
            topics.send(topic, ["new"], 1)
            query.processAllAvailable()
        finally:
            query.stop()
        assert values(source.stored(tmp_path)) == ["new"]


class TestBatchSizes:
    """A hundred records in each of two partitions."""

    @pytest.fixture
    def topic(self, topics: Topics) -> str:
        name = topics.create(2)
        for partition in range(2):
            topics.send(name, numbers(0, 100), partition)
        return name

    def test_available_now_in_batches_of_max_offsets(self, source: KafkaSource, topic: str, tmp_path: Path) -> None:
        reports = source.drain(tmp_path, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=50)
        assert [report["numInputRows"] for report in reports] == [50, 50, 50, 50]
        assert [report["sources"][0]["metrics"]["maxOffsetsBehindLatest"] for report in reports] == [
            "75",
            "50",
            "25",
            "0",
        ]
        assert len(set(source.stored(tmp_path))) == len(source.stored(tmp_path)) == 200

    def test_available_now_stops_at_what_was_there(
        self, source: KafkaSource, topics: Topics, topic: str, tmp_path: Path
    ) -> None:
        options = {"subscribe": topic, "startingOffsets": "earliest"}
        assert sum(report["numInputRows"] for report in source.drain(tmp_path, **options)) == 200
        topics.send(topic, ["later"], 0)
        assert sum(report["numInputRows"] for report in source.drain(tmp_path, **options)) == 1
        assert source.drain(tmp_path, **options) == []

    def test_min_partitions_splits_batches(self, source: KafkaSource, topic: str, tmp_path: Path) -> None:
        (report,) = source.drain(tmp_path, subscribe=topic, startingOffsets="earliest", minPartitions=6)
        assert report["numInputRows"] == 200
        assert len(list((tmp_path / "out").glob("part-*.parquet"))) >= 6

    def test_max_records_per_partition(self, source: KafkaSource, topic: str, tmp_path: Path) -> None:
        source.drain(tmp_path, subscribe=topic, startingOffsets="earliest", minPartitions=3, maxRecordsPerPartition=25)
        assert len(list((tmp_path / "out").glob("part-*.parquet"))) == 8
        assert values(source.stored(tmp_path)) == numbers(0, 100) * 2

    def test_min_offsets_waits_for_more_until_the_delay_is_over(
        self, source: KafkaSource, topics: Topics, topic: str, tmp_path: Path
    ) -> None:
        stream = source.stream(
            subscribe=topic, startingOffsets="earliest", minOffsetsPerTrigger=50, maxTriggerDelay="2s"
        )
        query = run(stream, tmp_path, processingTime="50 milliseconds")
        try:
            await_that(lambda: rows(query) == [200], query)
            topics.send(topic, ["few"], 0)  # too few: comes when the delay is over
            await_that(lambda: rows(query) == [200, 1], query)
            few = batches(query)[-1]
            topics.send(topic, numbers(0, 60), 0)  # enough
            await_that(lambda: sum(rows(query)) == 261, query)
        finally:
            query.stop()
        waited = trigger_time(few) - trigger_time(batches(query)[0])
        assert waited >= 1.9, f"one record came {waited:.2f} s after the batch before it"


def rows(query: StreamingQuery) -> list[int]:
    return [report["numInputRows"] for report in batches(query)]


def trigger_time(report: dict[str, Any]) -> float:
    """Start of a batch, in seconds."""
    return time.mktime(time.strptime(report["timestamp"][:19], "%Y-%m-%dT%H:%M:%S")) + float(report["timestamp"][19:23])


class TestWhatAppearsLater:
    def test_records_partitions_and_topics(self, source: KafkaSource, topics: Topics, tmp_path: Path) -> None:
        stem = topics.fresh_name("grows")
        first = topics.create(1, stem + "-1")
        topics.send(first, ["a"])
        stream = source.stream(subscribePattern=f"{stem}-.*", startingOffsets="latest", kafka_metadata_max_age_ms=100)
        query = run(stream, tmp_path, processingTime="100 milliseconds")
        try:
            await_that((tmp_path / "checkpoint" / "sources" / "0" / "0").exists, query)
            topics.send(first, ["b"])
            query.processAllAvailable()
            topics.add_partitions(first, 3)
            topics.send(first, ["c"], 2)  # new partitions are read from their beginning
            await_that(lambda: sum(rows(query)) == 2, query)
            second = topics.create(1, stem + "-2")
            topics.send(second, ["d", "e"])
            await_that(lambda: sum(rows(query)) == 4, query)
        finally:
            query.stop()
        assert [(place.topic, place.partition, place.value) for place in source.stored(tmp_path)] == [
            (first, 0, "b"),
            (first, 2, "c"),
            (second, 0, "d"),
            (second, 0, "e"),
        ]

    def test_many_small_batches_keep_one_fetch_session_going(
        self, source: KafkaSource, topics: Topics, tmp_path: Path
    ) -> None:
        topic = topics.create(3)
        query = run(
            source.stream(subscribe=topic, startingOffsets="earliest"), tmp_path, processingTime="20 milliseconds"
        )
        try:
            for number in range(8):
                topics.send(topic, [number], number % 3)
                query.processAllAvailable()
        finally:
            query.stop()
        assert len(batches(query)) == 8
        assert sorted(values(source.stored(tmp_path)), key=int) == numbers(0, 8)


def test_progress_names_the_offsets_of_the_broker(source: KafkaSource, topics: Topics, tmp_path: Path) -> None:
    topic = topics.create(2)
    topics.send(topic, numbers(0, 5), 0)
    (report,) = source.drain(tmp_path, subscribe=topic, startingOffsets="earliest")
    (read,) = report["sources"]
    assert (read["startOffset"], read["endOffset"]) == (None, {topic: {"0": 5, "1": 0}})
    committed = (tmp_path / "checkpoint" / "offsets" / "0").read_text().splitlines()[-1]
    assert json.loads(committed) == {topic: {"0": 5, "1": 0}}
