"""The direct source returns the same rows as Spark's Kafka source, from the files of a broker that runs or has stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from compat_tests.conftest import make_target
from compat_tests.harness.process import ROOT, BrokerProcess
from compat_tests.snippets.blocks import blocks
from compat_tests.spark.topics import Topics
from pykbroker.lake.direct.log_files import find_logs
from pykbroker.lake.direct.source import register
from pykbroker.lake.ledger import LakePartition

NOON_MS = 1_357_041_600_000  # 2013-01-01T12:00Z
#: Each batch of these topics begins a segment: their timestamps are further apart.
ROLLING = {"segment_ms": "1", "retention_ms": "-1"}
#: What is committed, and where logs begin, is noted at once: not after five seconds (Apache Kafka) or a minute.
NOTING = {
    "log.flush.start.offset.checkpoint.interval.ms": "100",
    "replica.high.watermark.checkpoint.interval.ms": "100",
    "log.flush.offset.checkpoint.interval.ms": "100",
    "log.initial.task.delay.ms": "0",
}
LIMIT_S = 150


class Side(NamedTuple):
    """A broker, and readers of it with either source."""

    spark: SparkSession
    broker: BrokerProcess
    topics: Topics

    def direct(self, topic: str, **options: Any) -> DataFrame:
        reader = self.spark.read.format("pykbroker").option("path", str(self.broker.data_dir))
        return reader.options(subscribe=topic, includeHeaders="true", **options).load()

    def kafka(self, topic: str, **options: Any) -> DataFrame:
        reader = self.spark.read.format("kafka").option("kafka.bootstrap.servers", self.broker.bootstrap)
        return reader.options(subscribe=topic, includeHeaders="true", **options).load()

    def await_noted(self, topic: str) -> None:
        """Wait until the broker's checkpoint has the high watermark of partition 0."""
        line = f"{topic} 0 {self.topics.latest(topic)}\n"
        deadline = time.monotonic() + LIMIT_S
        while line not in _text(self.broker):
            assert time.monotonic() < deadline, _text(self.broker)
            time.sleep(0.02)


def _text(broker: BrokerProcess) -> str:
    path = broker.data_dir / "replication-offset-checkpoint"
    return path.read_text() if path.exists() else ""


@pytest.fixture(scope="module")
def side(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    broker = make_target(tmp_path_factory.mktemp("direct") / "broker", NOTING)
    broker.start()
    register(spark)
    yield Side(spark, broker, Topics(broker.bootstrap))
    broker.stop()


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    columns = ("topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers")
    found = [tuple(map(_plain, row)) for row in frame.select(*columns).collect()]
    return sorted(found, key=lambda row: row[:3])


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [(header["key"], _plain(header["value"])) for header in value]
    return bytes(value) if isinstance(value, bytearray) else value


@pytest.fixture(scope="module")
def varied(side: Side) -> str:
    """All codecs, a segment each; headers, nulls and empty values; a second partition; timestamps out of order."""
    topic = side.topics.create(2, **ROLLING)
    headers = [("a", b"\xff"), ("a", None), ("ü", b"")]
    for day, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        stamps = [NOON_MS + day * 86_400_000 + number for number in (0, 2, 1)]
        side.topics.send(topic, range(3), 0, timestamps=stamps, headers=headers, key=codec.encode(), codec=codec)
    for number in range(40):
        side.topics.send(topic, ["x" * number * 50], 1, timestamps=[NOON_MS + number])
    side.topics.send_raw(topic, b"tombstone", None)
    side.topics.send_raw(topic, None, b"")
    side.await_noted(topic)
    return topic


def test_every_form_of_record_is_as_in_the_kafka_source(side: Side, varied: str) -> None:
    direct = side.direct(varied)
    assert direct.schema == side.kafka(varied).schema
    assert direct.rdd.getNumPartitions() == 2
    found = rows(direct)
    assert len(found) == 57
    assert found == rows(side.kafka(varied))
    many = side.direct(varied, minPartitions="20")
    assert many.rdd.getNumPartitions() > 10
    assert rows(many) == found


def test_a_topic_or_a_range_without_records_has_no_rows(side: Side, varied: str) -> None:
    empty = side.topics.create()
    side.await_noted(empty)
    past_all = {"startingTimestamp": str(3 * NOON_MS), "startingOffsetsByTimestampStrategy": "latest"}
    before_all = {"endingOffsets": json.dumps({varied: {"0": 0, "1": 0}})}
    for topic, options in ((empty, {}), (empty, {"supersededKeys": "drop"}), (varied, past_all), (varied, before_all)):
        assert rows(side.direct(topic, **options)) == []


def test_only_columns_of_the_schema_are_read(side: Side, varied: str) -> None:
    def requested(schema: str) -> DataFrame:
        reader = side.spark.read.format("pykbroker").option("path", str(side.broker.data_dir))
        return reader.option("subscribe", varied).schema(schema).load()

    wanted = side.kafka(varied)
    for schema in ("offset BIGINT", "value BINARY, partition INT", "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"):
        found = requested(schema)
        assert sorted(map(str, found.collect())) == sorted(map(str, wanted.select(*found.columns).collect()))
    assert requested("offset BIGINT").count() == 57
    with pytest.raises(Exception, match="column value is binary, not string; cast it in the query"):
        requested("value STRING").count()


def test_filters_hold_though_spark_hands_none_down(side: Side, varied: str) -> None:
    """`where` is applied to rows that were read; options limit what is read."""
    condition = "partition = 1 and offset >= 7 and offset < 9"
    found = rows(side.direct(varied).where(condition))
    assert found == rows(side.kafka(varied).where(condition))
    options = {"assign": {varied: [1]}, "startingOffsets": {varied: {"1": 7}}, "endingOffsets": {varied: {"1": 9}}}
    reader = (
        side.spark.read.format("pykbroker").option("path", str(side.broker.data_dir)).option("includeHeaders", "true")
    )
    assert found == rows(reader.options(**{name: json.dumps(value) for name, value in options.items()}).load())


@pytest.mark.parametrize(
    "options",
    [
        {"startingOffsets": {"0": 4, "1": 39}, "endingOffsets": {"0": 9, "1": -1}},
        {"startingOffsets": {"0": -2, "1": 7}, "endingOffsets": {"0": 0, "1": 8}},
        {"startingTimestamp": NOON_MS + 86_400_001, "startingOffsetsByTimestampStrategy": "latest"},
        {"endingTimestamp": NOON_MS + 20},
    ],
    ids=str,
)
def test_ranges_are_those_of_the_kafka_source(side: Side, varied: str, options: dict[str, Any]) -> None:
    given = {name: json.dumps({varied: value}) if isinstance(value, dict) else value for name, value in options.items()}
    found = rows(side.direct(varied, **given))
    assert found == rows(side.kafka(varied, **given))
    assert found


def test_aborted_and_open_transactions_are_left_out_on_demand(side: Side) -> None:
    """Transactions that span segments, and one that is open at the end."""
    topic = side.topics.create(**ROLLING)
    producer = Producer({"bootstrap.servers": side.broker.bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    for number in range(7):
        producer.begin_transaction()
        for part in range(2):
            producer.produce(topic, str(number), partition=0, timestamp=NOON_MS + 10 * number + part * 5)
            assert producer.flush(30) == 0
        if number < 6:
            (producer.abort_transaction if number % 2 else producer.commit_transaction)(30)
    side.await_noted(topic)
    committed = {"kafka.isolation.level": "read_committed"}
    found = rows(side.direct(topic, **committed))
    assert [row[6] for row in found] == [b"0", b"0", b"2", b"2", b"4", b"4"]
    assert found == rows(side.kafka(topic, **committed))
    everything = rows(side.direct(topic))
    assert len(everything) == 14
    assert everything == rows(side.kafka(topic))
    producer.abort_transaction(30)


def test_superseded_keys_are_left_out_on_demand(side: Side) -> None:
    topic = side.topics.create(**ROLLING)
    for number in range(6):
        side.topics.send(topic, [number], key=b"k%d" % (number % 2), timestamps=[NOON_MS + 10 * number])
    side.topics.send(topic, ["no key"])
    side.await_noted(topic)
    assert [row[2] for row in rows(side.direct(topic, supersededKeys="drop"))] == [4, 5, 6]


def test_a_stream_follows_logs_that_grow(side: Side, tmp_path: Any) -> None:
    """After a restart, nothing is read again, and a new partition is read from its beginning."""
    topic = side.topics.create(**ROLLING)
    side.topics.send(topic, range(5), timestamps=[NOON_MS + number for number in range(5)])
    side.await_noted(topic)
    seen: list[tuple[int, int]] = []

    def take(frame: DataFrame, _: int) -> None:
        seen.extend((row.partition, row.offset) for row in frame.collect())

    def start(schema: str | None = None) -> Any:
        reader = side.spark.readStream.format("pykbroker").option("path", str(side.broker.data_dir))
        reader = reader.options(subscribe=topic, startingOffsets="earliest")
        stream = (reader.schema(schema) if schema else reader).load()
        return stream.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "point")).start()

    def batches(log: str) -> set[str]:
        return {file.name for file in (tmp_path / "point" / log).glob("[0-9]*")}

    def await_seen(wanted: set[tuple[int, int]], query: Any) -> None:
        """Wait for the rows, and until Spark has committed their batches, which it would otherwise repeat after a restart."""
        deadline = time.monotonic() + LIMIT_S
        while set(seen) != wanted or batches("offsets") != batches("commits"):
            assert time.monotonic() < deadline, (seen, query.exception())
            time.sleep(0.05)

    first = {(0, offset) for offset in range(5)}
    query = start()
    try:
        await_seen(first, query)
        side.topics.send(topic, range(3), timestamps=[NOON_MS + 100] * 3)
        await_seen(first | {(0, 5), (0, 6), (0, 7)}, query)
    finally:
        query.stop()
    side.topics.add_partitions(topic, 2)
    side.topics.send(topic, range(2), 1)
    query = start("partition INT, offset BIGINT")
    try:
        await_seen(first | {(0, 5), (0, 6), (0, 7), (1, 0), (1, 1)}, query)
    finally:
        query.stop()
    assert len(seen) == 10


def test_what_is_gone_or_badly_asked_for_is_told(side: Side, varied: str, tmp_path: Any) -> None:
    side.topics.delete_records(varied, 4)
    deadline = time.monotonic() + LIMIT_S
    while find_logs([str(side.broker.data_dir)])[LakePartition(varied, 0)].start < 4:
        assert time.monotonic() < deadline, "the broker has not noted where the log begins"
        time.sleep(0.02)
    requested = json.dumps({varied: {"0": 2, "1": 0}})
    with pytest.raises(Exception, match=rf"{varied}-0 has the offsets \d+ to 16, and 2 was asked for"):
        side.direct(varied, startingOffsets=requested).count()
    with pytest.raises(Exception, match="has no option 'startingoffset'"):
        side.direct(varied, startingOffset="earliest").count()
    with pytest.raises(Exception, match=r"is no log directory of a broker: it has no meta\.properties"):
        side.spark.read.format("pykbroker").option("path", str(tmp_path)).load().count()


def test_a_folder_of_a_broker_that_has_ended_is_read(
    spark: SparkSession, start_target: Callable[..., BrokerProcess]
) -> None:
    """After a clean shutdown, the checkpoints are complete. No broker runs."""
    broker = start_target()
    topics = Topics(broker.bootstrap)
    topic = topics.create(3)
    for partition in range(3):
        topics.send(topic, range(100), partition, codec="zstd")
    broker.stop()
    register(spark)
    frame = spark.read.format("pykbroker").option("path", str(broker.data_dir)).load()
    assert frame.where(f"topic = '{topic}'").groupBy("partition").count().count() == 3
    assert frame.count() == 300


def test_the_program_on_the_page_runs(side: Side, capsys: pytest.CaptureFixture[str]) -> None:
    side.topics.create(1, name="flights")
    side.topics.send("flights", range(30))
    side.await_noted("flights")
    page = [block.text for block in blocks(ROOT / "docs" / "lake.md") if block.language == "python"]
    programs = [text for text in page if "spark" in text]
    found: dict[str, Any] = {}
    for program in programs:
        exec(program.replace('"data"', repr(str(side.broker.data_dir))), found)
    assert "|        0|   30|" in capsys.readouterr().out
    assert found["offsets"].count() == 30
