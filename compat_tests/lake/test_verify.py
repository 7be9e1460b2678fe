"""Verify finds changes that were made to a lake's files, and names their offsets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from compat_tests.lake.workshop import Workshop
from compat_tests.spark.topics import Topics
from pykbroker.lake.description import Format
from pykbroker.lake.record_columns import PARTITIONED_BY
from pykbroker.lake.verify import OffsetDifference
from pykbroker.testing import Kafka

NOON_MS = 1_357_041_600_000  # 2013-01-01T12:00Z


def rewritten(workshop: Workshop, change: Callable[[DataFrame], DataFrame]) -> None:
    """Replace the lake's rows by others."""
    elsewhere = str(workshop.path / "changed")
    change(workshop.lake.read()).write.partitionBy(*PARTITIONED_BY).parquet(elsewhere)
    (workshop.path / "records").rename(workshop.path / "as-it-was")
    (workshop.path / "changed").rename(workshop.path / "records")


@pytest.fixture
def archived(make: Callable[..., Workshop], topics: Topics) -> tuple[Workshop, str]:
    topic = topics.create(2)
    for partition in range(2):
        topics.send(topic, range(30), partition, key=b"k", headers=[("a", b"1")])
    workshop = make()
    workshop.archive(topic)
    return workshop, topic


def test_each_kind_of_difference_is_told(archived: tuple[Workshop, str]) -> None:
    workshop, topic = archived

    def change(rows: DataFrame) -> DataFrame:
        at = f.col("partition") * 100 + f.col("offset")
        kept = rows.where(at != 3)
        kept = kept.withColumn("key", f.when(at == 104, None).otherwise(f.col("key")))
        kept = kept.withColumn("value", f.when(at == 105, f.lit(b"")).otherwise(f.col("value")))
        kept = kept.withColumn("headers", f.when(at == 106, None).otherwise(f.col("headers")))
        kept = kept.withColumn(
            "timestamp", f.when(at == 106, f.timestamp_millis(f.lit(5))).otherwise(f.col("timestamp"))
        )
        return kept.union(kept.where(at == 7))

    rewritten(workshop, change)
    report = workshop.verify(range_records=10)
    assert report.differences == [
        OffsetDifference(topic, 0, 3, "missing"),
        OffsetDifference(topic, 0, 7, "duplicate"),
        OffsetDifference(topic, 1, 4, "key"),
        OffsetDifference(topic, 1, 5, "value"),
        OffsetDifference(topic, 1, 6, "timestamp, headers"),
    ]
    assert report.ranges_differ == 2
    assert not report.is_equal
    assert [(each.broker_rows, each.lake_rows) for each in report.partitions] == [(30, 30), (30, 30)]
    few = workshop.verify(range_records=10, sample=1)
    assert (few.differences, few.ranges_differ) == (report.differences[:1], 2)


def test_what_expired_on_the_broker_is_counted_against_the_ledger(
    archived: tuple[Workshop, str], topics: Topics
) -> None:
    workshop, topic = archived
    topics.delete_records(topic, 20)
    report = workshop.verify()
    assert report.is_equal
    assert [(each.range, each.expired, each.lake_rows) for each in report.partitions] == [
        ((20, 30), 20, 10),
        ((0, 30), 0, 30),
    ]
    rewritten(workshop, lambda rows: rows.where("NOT (partition = 0 AND offset = 5)"))
    report = workshop.verify()
    assert report.shortages == [f"{topic}-0: the ledger counted 30 rows, and the lake has 29"]
    assert not report.is_equal


def test_partitions_that_the_broker_has_no_more_are_told(archived: tuple[Workshop, str], topics: Topics) -> None:
    """First all records of one expire; then the topic is deleted, then made anew."""
    workshop, topic = archived
    topics.delete_records(topic, 30)
    counts = [(each.range, each.expired, each.broker_rows, each.lake_rows) for each in workshop.verify().partitions]
    assert counts == [((30, 30), 30, 0, 0), ((0, 30), 0, 30, 30)]
    topics.delete(topic)
    report = workshop.verify()
    assert report.is_equal
    assert [(each.range, each.expired) for each in report.partitions] == [((30, 30), 30), ((30, 30), 30)]
    topics.create(1, name=topic)
    topics.send(topic, range(3))
    report = workshop.verify()
    assert [said.partition(" id ")[0] for said in report.shortages] == [
        f"{topic}-{number}: archived from the topic of" for number in (0, 1)
    ]
    assert all("the topic was deleted and made anew" in said for said in report.shortages)
    assert report.partitions == []


def test_of_a_compacted_topic_the_lake_may_have_more(spark: SparkSession, tmp_path: Path) -> None:
    """The broker compacts records after they were archived; those that it still has are compared."""
    settings = {"cleanup_policy": "compact", "segment_ms": "1", "min_cleanable_dirty_ratio": "0"}
    with Kafka() as kafka:
        topics = Topics(kafka.bootstrap_servers)
        topic = topics.create(**settings)
        for number in range(6):  # a segment each, for their timestamps are further apart than segment.ms
            topics.send(topic, [number], key=b"k%d" % (number % 2), timestamps=[NOON_MS + 1000 * number])
        workshop = Workshop(spark, kafka.bootstrap_servers, tmp_path / "lake", Format.PARQUET)
        workshop.archive(topic)
        kafka.run_compaction()
        kept = [message.offset() for message in topics.receive(topic)]
        assert kept == [3, 4, 5]  # 5 is in the active segment, which is never compacted
        report = workshop.verify()
        assert report.is_equal
        assert [(each.broker_rows, each.lake_rows) for each in report.partitions] == [(3, 6)]
        rewritten(workshop, lambda rows: rows.withColumn("value", f.lit(b"x")))
        found = workshop.verify().differences
    assert found == [OffsetDifference(topic, 0, offset, "value") for offset in kept]
