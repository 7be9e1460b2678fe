"""Timestamps far from the present, and topics whose names mean something to Spark, Hive or a file system."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable

from pyspark.sql import Row

from compat_tests.conftest import LONG
from compat_tests.lake.workshop import Workshop
from compat_tests.oracle.requests import Ask
from compat_tests.spark.topics import Topics
from pykbroker.lake.description import Format
from pykbroker.lake.profile.aggregation import ProfileOptions, measured
from pykbroker.lake.profile.page import page
from pykbroker.lake.replay import Replay, ReplayOptions
from pykbroker.lake.values.decode import Decode
from pykbroker.lake.values.decode_options import DecodeOptions, ValueFormat
from pykbroker.lake.values.decoded_tables import DecodedTopic, all_decoded
from pykbroker.lake.values.schema_survey import Surveyor
from pykbroker.wire.records import Record, encode_batch

DAY_MS = 86_400_000
YEAR_10000_MS = 253_402_300_800_000
FAR = {"message.timestamp.after.max.ms": str((1 << 63) - 1)}
DATES = {
    -2: "1969-12-31",
    -1: "1969-12-31",
    -365 * DAY_MS: "1969-01-01",
    1: "1970-01-01",
    YEAR_10000_MS - 1: "9999-12-31",
    YEAR_10000_MS: "+10000-01-01",
}
"""The date of each timestamp in milliseconds. -1 is a record without a timestamp."""


def test_timestamps_of_every_age_keep_their_date(make: Callable[..., Workshop], topics: Topics, form: Format) -> None:
    topic = topics.create(retention_ms="-1", message_timestamp_after_max_ms=str((1 << 63) - 1))
    ask = Ask(topics.bootstrap, 9, "")
    workshop = make(form)
    for _ in range(3):
        for timestamp in DATES:
            ask.produce(topic, encode_batch([Record(timestamp=timestamp, value=b"%d" % timestamp)]))
        assert workshop.archive(topic).rows == len(DATES)
    rows = workshop.lake.read().where(f"topic = '{topic}'")
    chosen = rows.selectExpr("offset", "unix_millis(timestamp)", "string(date)").orderBy("offset").toArrow().to_pylist()
    assert [tuple(row.values()) for row in chosen] == [
        (number, *pair) for number, pair in enumerate(list(DATES.items()) * 3)
    ]
    assert workshop.lake.table.compact(1 << 27).after == len(set(DATES.values()))
    assert workshop.verify().is_equal
    if form is not Format.PARQUET and not LONG:  # what comes now asks no more of a table than that has
        return
    assert "@253402300800000" in page("lake", "now", measured(workshop.lake, ProfileOptions(topic)))
    wanted = ReplayOptions(f"{topic}-again", prefix="again-", topic_configs=FAR)
    assert sum(Replay(workshop.lake, topics.bootstrap, {}, wanted).run().values()) == 3 * len(DATES)
    assert workshop.archive(f"(again-)?{topic}").rows == 3 * len(DATES)
    rows = workshop.lake.read().where("timestamp = timestamp_millis(bigint(string(value)))")
    assert sorted(rows.groupBy("topic").count().collect()) == sorted(
        Row(topic=each, count=3 * len(DATES)) for each in (topic, f"again-{topic}")
    )


JULIAN_MS = -12_219_292_800_001
LAST_MS = (1 << 63) // 1000
BEYOND = (-(1 << 63), -LAST_MS - 1, LAST_MS + 1, (1 << 63) - 1)


def test_timestamps_that_spark_cannot_hold_are_kept_beside_the_table(
    make: Callable[..., Workshop], topics: Topics, long_form: Format
) -> None:
    topic = topics.create(2, retention_ms="-1", message_timestamp_after_max_ms=str((1 << 63) - 1))
    ask = Ask(topics.bootstrap, 9, "")
    workshop = make(long_form)
    topics.send(topic, range(3), 1)
    sent = [1, *BEYOND[:2], LAST_MS, BEYOND[2], BEYOND[3]]
    for timestamp in sent:
        headers = (("h", None), ("h", b"\xff"))
        ask.produce(
            topic, encode_batch([Record(timestamp=timestamp, key=b"\xfe", value=b"%d" % timestamp, headers=headers)])
        )
    assert workshop.archive(topic).rows == 3 + 2
    for told in (f"{topic}-0 offset 1 with {-(1 << 63)} ms", "those of 4 records", "odd/000000000000.json"):
        assert told in workshop.said[0]
    lines = [json.loads(line) for line in (workshop.path / "odd/000000000000.json").read_text().splitlines()]
    assert [(each["offset"], each["timestamp"]) for each in lines] == list(zip((1, 2, 4, 5), BEYOND, strict=True))
    assert lines[0] == {
        "topic": topic, "partition": 0, "offset": 1, "timestamp": -(1 << 63), "timestampType": 0, "key": "/g==",
        "value": b64encode(b"%d" % -(1 << 63)).decode(), "headers": [{"key": "h", "value": None}, {"key": "h", "value": "/w=="}],
    }  # fmt: skip
    there = workshop.lake.read().where(f"topic = '{topic}'").select("partition", "offset").collect()
    assert sorted(map(tuple, there)) == [(0, 0), (0, 3), (1, 0), (1, 1), (1, 2)]
    assert workshop.verify().is_equal
    assert workshop.said[1:] == []
    topics.send(topic, range(1))
    ask.produce(topic, encode_batch([Record(timestamp=JULIAN_MS)]))
    assert workshop.archive(topic).rows == 2
    assert "Batch 1 has timestamps before 1582-10-15, which Spark's Kafka source moves" in workshop.said[1]
    assert workshop.lake.last_entry().total_rows == 7
    assert workshop.verify().is_equal


ODD = (
    ".hidden",
    "_other",
    "__HIVE_DEFAULT_PARTITION__",
    "007",
    "2013-01-01",
    "A",
    "a",
    "null",
    "topic",
    "x.parquet",
    "_delta_log",
    "metadata",
)


def test_topics_may_have_every_name(make: Callable[..., Workshop], topics: Topics, form: Format) -> None:
    """Names that begin as hidden files do, that Hive takes for null, that look like numbers or dates, that differ by case alone."""
    names = set(ODD)
    for name in names - topics.names():
        topics.create(name=name)
        topics.send(name, [name])
    workshop = make(form)
    assert workshop.archive("|".join(map(re.escape, names))).rows == len(names)
    rows = workshop.lake.read().select("topic", "value").collect()
    assert {(row.topic, row.value.decode()) for row in rows} == {(name, name) for name in names}
    assert {place.topic: each.rows for place, each in workshop.lake.last_entry().partitions.items()} == dict.fromkeys(
        names, 1
    )
    assert workshop.verify().is_equal
    if form is not Format.PARQUET and not LONG:  # what comes now asks no more of a table than that has
        return
    assert {each.topic for each in measured(workshop.lake, ProfileOptions())} == names
    target = ReplayOptions(f"odd-{form}", prefix=f"{form}-")
    assert len(Replay(workshop.lake, topics.bootstrap, {}, target).run()) == len(names)
    hidden = DecodedTopic(workshop.lake, ".hidden")
    hidden.keep_options(DecodeOptions(ValueFormat.TEXT))
    assert Decode(hidden, Surveyor()).run(lambda _: None).decoded == hidden.read().count() == 1
    assert [each.topic for each in all_decoded(workshop.lake)] == [".hidden"]
