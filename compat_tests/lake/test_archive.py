"""Archives topics to a lake: every record unchanged and exactly once, with each table format."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.errors import StreamingQueryException

from compat_tests.lake.workshop import Workshop
from compat_tests.spark.topics import Topics
from pykbroker.lake.archive import Archive, ArchiveOptions
from pykbroker.lake.archive_progress import ArchiveProgress
from pykbroker.lake.description import Format
from pykbroker.lake.errors import DataLost, LakeError
from pykbroker.lake.ledger import NOTHING, LakePartition, LedgerEntry, Lost, PartitionProgress
from pykbroker.lake.tables.iceberg import IcebergTable
from pykbroker.lake.tables.parquet import COMMITS, STAGING, ParquetTable
from pykbroker.lake.tables.table import Compacted
from pykbroker.testing import Kafka

DAY_MS = 86_400_000
NOON_MS = 1_357_041_600_000  # 2013-01-01T12:00Z


def at(day: int) -> datetime:
    return datetime.fromtimestamp((NOON_MS + day * DAY_MS) / 1000, UTC).replace(tzinfo=None)


def test_every_form_of_record_is_kept(make: Callable[..., Workshop], topics: Topics) -> None:
    """All codecs, two partitions, headers with one name twice and with null, null and empty keys and values."""
    topic = topics.create(2, retention_ms="-1")
    headers = [("a", b"\xff"), ("a", None), ("ü", b"")]
    for day, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        topics.send(
            topic, [codec], 0, timestamps=[NOON_MS + day * DAY_MS], headers=headers, key=codec.encode(), codec=codec
        )
    topics.send_raw(topic, None, b"value alone")
    topics.send_raw(topic, b"tombstone", None)
    topics.send_raw(topic, b"", b"")
    topics.send(topic, ["other"], 1, timestamps=[NOON_MS])
    workshop = make()
    assert workshop.archive(topic).rows == 9
    rows = workshop.rows(topic)
    assert rows[:5] == [
        (0, day, at(day), 0, codec.encode(), codec.encode(), headers)
        for day, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd"))
    ]
    assert [row[4:] for row in rows[5:8]] == [
        (None, b"value alone", None),
        (b"tombstone", None, None),
        (b"", b"", None),
    ]
    assert rows[8] == (1, 0, at(0), 0, None, b"other", None)
    days = {row.date for row in workshop.lake.read().where("offset < 5").select("date").collect()}
    assert days == {date(2013, 1, day) for day in range(1, 6)}
    assert workshop.verify().is_equal


def test_runs_go_on_where_the_last_one_ended(make: Callable[..., Workshop], topics: Topics) -> None:
    """New records, a new partition, a new topic; after each run, the ledger has the progress."""
    stem = topics.fresh_name("growing")
    first = topics.create(name=f"{stem}.a")
    topics.send(first, range(5))
    workshop = make()
    pattern = re.escape(stem) + r"\..*"
    assert workshop.archive(pattern).rows == 5
    topics.send(first, range(3))
    topics.add_partitions(first, 2)
    topics.send(first, range(2), 1)
    second = topics.create(name=f"{stem}.b")
    topics.send(second, range(7))
    assert workshop.archive(pattern, batch_records=4).rows == 12
    assert workshop.archive(pattern).rows == 0
    assert workshop.offsets(first) == [(0, offset) for offset in range(8)] + [(1, 0), (1, 1)]
    assert workshop.offsets(second) == [(0, offset) for offset in range(7)]
    entry = workshop.lake.last_entry()
    assert {place: (each.begin, each.until, each.rows) for place, each in entry.partitions.items()} == {
        LakePartition(first, 0): (0, 8, 8), LakePartition(first, 1): (0, 2, 2), LakePartition(second, 0): (0, 7, 7),
    }  # fmt: skip


def test_a_batch_that_was_taken_is_not_taken_again(make: Callable[..., Workshop], topics: Topics, form: Format) -> None:
    """As after a kill between the table's commit and Spark's: the checkpoint does not have the batch, the table does."""
    topic = topics.create()
    topics.send(topic, range(10))
    workshop = make(form)
    workshop.archive(topic)
    before = workshop.lake.last_entry()
    for name in ("commits/0", "commits/.0.crc"):
        (workshop.path / "checkpoint" / name).unlink()
    (workshop.path / "ledger" / f"{0:012d}.json").unlink()
    topics.send(topic, range(5))
    workshop.archive(topic)
    assert workshop.offsets(topic) == [(0, offset) for offset in range(15)]
    assert workshop.lake.entry(0).partitions == before.partitions
    assert workshop.lake.last_entry().total_rows == 15
    left_alone = form is Format.PARQUET  # of plain files, those of the last batch may still be moving
    assert workshop.lake.table.compact(1 << 27) == (Compacted(0, 0) if left_alone else Compacted(2, 1))
    assert workshop.offsets(topic) == [(0, offset) for offset in range(15)]


def test_aborted_transactions_are_left_out(make: Callable[..., Workshop], topics: Topics) -> None:
    topic = topics.create()
    producer = Producer({"bootstrap.servers": topics.bootstrap, "transactional.id": f"{topic}-writer"})
    producer.init_transactions(30)
    for number in range(6):
        producer.begin_transaction()
        producer.produce(topic, str(number), partition=0)
        assert producer.flush(30) == 0
        if number % 2:
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)
    workshop = make()
    workshop.archive(topic)
    assert [row[5] for row in workshop.rows(topic)] == [b"0", b"2", b"4"]
    progress = workshop.lake.last_entry().partitions[LakePartition(topic, 0)]
    assert (progress.until, progress.rows, progress.lost) == (12, 3, NOTHING)
    assert workshop.verify().is_equal


def test_small_files_are_put_together(make: Callable[..., Workshop], topics: Topics) -> None:
    topic = topics.create(2)
    workshop = make()
    for _ in range(3):
        topics.send(topic, range(10), 0)
        topics.send(topic, range(10), 1)
        workshop.archive(topic)
    before = workshop.rows(topic)
    found = workshop.lake.table.compact(1 << 27)
    assert found.before >= 2
    assert found.after == 1
    assert workshop.rows(topic) == before
    topics.send(topic, range(1))
    workshop.archive(topic)
    assert len(workshop.rows(topic)) == 61
    assert workshop.verify().is_equal


def test_what_expired_before_it_was_read_is_told(make: Callable[..., Workshop], topics: Topics) -> None:
    """First the job fails with the missing offsets; with ``record_losses``, it continues with the rest and records them."""
    topic = topics.create(2)
    workshop = make()
    for number in range(2):
        topics.send(topic, range(10), number)
    workshop.archive(topic)
    for number in range(2):
        topics.send(topic, range(10), number)
    topics.delete_records(topic, 15)
    topics.delete_records(topic, 12, partition=1)
    with pytest.raises(DataLost, match=rf"{topic}-0 offsets 10 to 14, {topic}-1 offsets 10 to 11\."):
        workshop.archive(topic)
    workshop.archive(topic, record_losses=True)
    left = {0: [*range(10), *range(15, 20)], 1: [*range(10), *range(12, 20)]}
    assert workshop.offsets(topic) == [(number, offset) for number, offsets in left.items() for offset in offsets]
    found = workshop.lake.last_entry().partitions
    assert found == {
        LakePartition(topic, 0): PartitionProgress(0, 20, 15, Lost(5, ((10, 15),))),
        LakePartition(topic, 1): PartitionProgress(0, 20, 18, Lost(2, ((10, 12),))),
    }
    lines = [line for file in workshop.path.glob("lost/000000000001/*.json") for line in file.read_text().splitlines()]
    assert sorted((each["partition"], each["from"], each["until"]) for each in map(json.loads, lines)) == [
        (0, 10, 15), (1, 10, 12),
    ]  # fmt: skip


def test_a_topic_made_anew_is_not_mixed_with_the_old(make: Callable[..., Workshop], topics: Topics) -> None:
    """Even if it has fewer records; a ledger without ids compares offsets."""
    topic = topics.create()
    topics.send(topic, range(10))
    workshop = make()
    workshop.archive(topic)
    topics.delete(topic)
    topics.create(name=topic)
    topics.send(topic, range(3))
    with pytest.raises(
        DataLost, match=rf"{topic}-0 was archived from the topic of id \S+, and {topic} has the id \S+ now"
    ):
        workshop.archive(topic)
    workshop.lake.write_entry(replace(workshop.lake.last_entry(), ids={}))
    with pytest.raises(DataLost, match=rf"{topic}-0 was archived up to offset 10, and it ends at 3 now"):
        workshop.archive(topic)


def test_each_batch_asks_whether_its_topics_are_the_same(make: Callable[..., Workshop], topics: Topics) -> None:
    """As if a topic was made anew while the job runs."""
    topic = topics.create()
    topics.send(topic, range(10))
    workshop = make()
    workshop.archive(topic)
    workshop.lake.write_entry(replace(workshop.lake.last_entry(), ids={topic: "another"}))
    topics.send(topic, range(3))
    query = Archive(workshop.lake, workshop.cluster, ArchiveOptions(topic))._start()
    with pytest.raises(StreamingQueryException, match=rf"{topic}-0 was archived from the topic of id another"):
        query.awaitTermination()
    assert workshop.offsets(topic) == [(0, offset) for offset in range(10)]


def test_a_batch_that_two_processes_take_is_added_once_to_iceberg(make: Callable[..., Workshop]) -> None:
    """Of a lake on another machine's disk, which has no lock: Iceberg publishes only one of two staged snapshots of a batch."""
    table = make(Format.ICEBERG).lake.table
    assert isinstance(table, IcebergTable)
    rows = table.spark.sql("SELECT 't' AS topic, 0 AS partition, 7L AS offset, DATE'2026-01-31' AS date")
    rows = table.empty().unionByName(rows, allowMissingColumns=True)
    assert table.append(rows, 0).count() == table.read().count() == 1
    staged = [table._staged(rows, 1) for _ in range(3)]
    assert table.read().count() == 1
    table._publish(staged[0], 1)
    table._publish(staged[1], 1)
    assert table.read().count() == 2
    table.append(rows, 2)
    table._publish(staged[2], 1)
    assert table.append(rows, 1).count() == 1
    assert table.read().count() == 3


def test_a_batch_that_is_staged_before_another_is_published_is_still_added(make: Callable[..., Workshop]) -> None:
    """For instance while files are compacted."""
    table = make(Format.ICEBERG).lake.table
    assert isinstance(table, IcebergTable)
    rows = table.empty().unionByName(table.spark.sql("SELECT 't' AS topic, 1 AS partition"), allowMissingColumns=True)
    table.append(rows, 0)
    staged = table._staged(rows, 1)
    table.append(rows, 2)
    table._publish(staged, 1)
    assert table.append(rows, 1).count() == 1
    assert table.read().count() == 3


def test_a_batch_that_two_processes_take_is_added_once_to_parquet(make: Callable[..., Workshop]) -> None:
    """Of a lake on another machine's disk, which has no lock: the second process takes what the first has committed."""
    table = make().lake.table
    assert isinstance(table, ParquetTable)
    rows = table.spark.sql("SELECT 't' AS topic, 0 AS partition, 7L AS offset, DATE'2026-01-31' AS date")
    commit = f"{COMMITS}/{0:012d}.json"
    for _ in range(2):
        table._stage(rows, commit, "batch-0-", ())
    assert table.append(rows, 0).count() == table.read().count() == 1
    assert table.folder.files(STAGING) == {}
    with pytest.raises(LakeError, match="Another process has changed"):
        table._stage(rows, commit, "batch-0-", ("topic=t/x.parquet",))


def test_a_lake_is_of_one_format_and_one_cluster(make: Callable[..., Workshop], topics: Topics) -> None:
    topic = topics.create()
    topics.send(topic, range(3))
    workshop = make()
    workshop.archive(topic)
    with pytest.raises(LakeError, match="is of format parquet; it cannot be delta as well"):
        make(Format.DELTA)
    description = workshop.path / "lake.json"
    ours = description.read_text()
    (workshop.path / ".lake.json.crc").unlink()
    description.write_text(json.dumps({**json.loads(ours), "cluster_id": "another"}))
    with pytest.raises(LakeError, match="holds records of the cluster another"):
        make()


def test_what_is_no_pattern_is_told(make: Callable[..., Workshop]) -> None:
    with pytest.raises(LakeError, match=r"^'\(a' is not a regular expression: Unclosed group near index 2\.$"):
        make().archive("(a")


def test_no_task_waits_for_records_behind_those_of_its_batch(make: Callable[..., Workshop], tmp_path: Path) -> None:
    """Spark's consumer asks for offsets behind the fetch that it has sent ahead. With Kafka's 500 ms, each partition took so much longer."""
    with Kafka() as kafka:
        kafka.create_topic("t", 3)
        topics = Topics(kafka.bootstrap_servers)
        for number in range(3):
            topics.send("t", range(1), number)
        workshop = Workshop(make().lake.spark, kafka.bootstrap_servers, tmp_path / "other", Format.PARQUET)
        assert workshop.archive("t").rows == 3
        assert {each.request.max_wait_ms for each in kafka.requests("Fetch")} == {10}


@pytest.mark.parametrize(
    "report",
    [
        {"sources": [{}]},
        {"sources": [{"latestOffset": "None"}]},
        {"sources": 5},
        {"sources": [{"latestOffset": "None"}], "numInputRows": 1, "processedRowsPerSecond": "fast"},
        "nothing",
    ],
)
def test_what_is_only_shown_never_ends_the_job(report: Any) -> None:
    """Reports in the form of another version of Spark."""
    archive = object.__new__(Archive)
    archive.progress = ArchiveProgress(LedgerEntry())
    query: Any = SimpleNamespace(lastProgress=report)
    assert archive._seen(query) is archive.progress


def test_no_topic_is_an_error_and_so_is_one_that_was_deleted(make: Callable[..., Workshop], topics: Topics) -> None:
    """Of a stream without any partition, Spark says nothing."""
    topic = topics.create()
    topics.send(topic, range(3))
    workshop = make()
    with pytest.raises(LakeError, match=rf"^No topic matches 'no-{topic}'; it is the whole name"):
        workshop.archive(f"no-{topic}")
    workshop.archive(topic)
    topics.delete(topic)
    with pytest.raises(DataLost, match=rf"no longer has partitions that were archived: {topic}-0 \(up to offset 3\)"):
        workshop.archive(topic)
    assert workshop.archive(topic, record_losses=True).rows == 0
    assert len(workshop.offsets(topic)) == 3


def test_a_topic_that_is_deleted_in_the_last_moment_is_told(make: Callable[..., Workshop], topics: Topics) -> None:
    topic = topics.create()
    topics.send(topic, range(3))
    workshop = make()
    job = Archive(workshop.lake, workshop.cluster, ArchiveOptions(topic))
    deleted = False

    def delete(so_far: ArchiveProgress) -> None:
        nonlocal deleted
        if so_far.batches and not deleted:
            deleted = True
            topics.delete(topic)

    with pytest.raises(DataLost, match=rf"no longer has partitions that were archived: {topic}-0"):
        job.run(delete)


def test_while_it_follows_partitions_are_added_and_a_topic_is_deleted(
    make: Callable[..., Workshop], topics: Topics
) -> None:
    """New partitions are read from their beginning. The deleted topic is named; the others go on once the loss is accepted."""
    topic, other = topics.create(), topics.create()
    topics.send(topic, range(5))
    workshop = make()
    both = f"{topic}|{other}"
    job = Archive(workshop.lake, workshop.cluster, ArchiveOptions(both, interval_s=0.1))

    def step(so_far: ArchiveProgress) -> None:
        if so_far.entry.total_rows == 5:
            topics.add_partitions(topic, 3)
            for number in range(3):
                topics.send(topic, range(2), number)
            rows.append(5)
        elif so_far.entry.total_rows == 11:
            topics.delete(topic)
            topics.send(other, range(3))
            rows.append(11)

    rows: list[int] = []
    with pytest.raises(
        DataLost, match=rf"no longer has partitions that were archived: {topic}-0 \(up to offset 7\), {topic}-1"
    ):
        job.run(lambda so_far: None if so_far.entry.total_rows in rows else step(so_far))
    assert rows == [5, 11]
    with pytest.raises(DataLost, match=rf"{topic}-2 \(up to offset 2\)\. What was archived stays\."):
        workshop.archive(both)
    workshop.archive(both, record_losses=True)
    topics.send(other, range(1))
    workshop.archive(both)
    assert workshop.offsets(other) == [(0, offset) for offset in range(4)]
    assert len(workshop.offsets(topic)) == 11
    assert workshop.verify().is_equal


def test_a_topic_that_is_left_out_for_a_while_is_not_read_twice(
    make: Callable[..., Workshop], topics: Topics, long_form: Format
) -> None:
    """Spark forgets what it has read of it."""
    topic, other = topics.create(), topics.create(2)
    for each in (topic, other):
        topics.send(each, range(5))
    workshop = make(long_form)
    workshop.archive(f"{topic}|{other}")
    with pytest.raises(DataLost, match=rf"The lake has {other} as well, which '{topic}' does not match"):
        workshop.archive(topic)
    topics.send(topic, range(5))
    topics.send(other, range(3))
    topics.send(other, range(3), 1)
    assert workshop.archive(topic, record_losses=True).rows == 5
    assert workshop.archive(f"{topic}|{other}").rows == 6
    assert workshop.offsets(other) == [(0, offset) for offset in range(8)] + [(1, offset) for offset in range(3)]
    assert workshop.lake.last_entry().total_rows == 21
    assert workshop.verify().is_equal
    topics.send(other, range(1))
    assert workshop.archive(f"{topic}|{other}").rows == 1
    assert workshop.verify().is_equal
