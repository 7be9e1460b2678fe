"""Computes the numbers of a profile in Spark. The driver gets only sums of partitions and bins, percentiles, and the top few rows.

The rows are read once and cached without values, of which size and hash suffice, and with only the beginning of keys.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from pykbroker.lake.lake import Lake
from pykbroker.lake.profile.statistics import (
    LATE_FROM_MS,
    Bin,
    Key,
    KeysOfCount,
    PartitionStatistics,
    Pause,
    TopicFacts,
    step_for,
)

_SHOWN_KEY = 60
_PERCENTILES = {"half": 0.5, "90 %": 0.9, "99 %": 0.99, "all": 1.0}
_PLACE = ("topic", "partition")
Facts = dict[str, list[Row]]
"""Rows by topic."""


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """The records to measure, and the number of keys and pauses to show."""

    topics: str = ".*"
    since_ms: int | None = None
    until_ms: int | None = None
    top: int = 10


def measured(lake: Lake, wanted: ProfileOptions) -> list[TopicFacts]:
    """The numbers of the topics that match; topics without a matching record are left out."""
    rows = _narrow(lake, wanted).persist()
    try:
        places = _by_topic(_places(rows))
        totals = {topic: _totals(topic, found) for topic, found in places.items()}
        steps = {topic: step_for(each["last_ms"] - each["first_ms"] + 1) for topic, each in totals.items()}
        if not totals:
            return []
        order = _in_order(rows).persist()
        keys = _keys(rows).persist()
        try:
            found = {
                **totals_of_percentiles(order),
                "volume": _by_topic(_volume(rows, steps)), "sizes": _by_topic(_bins(rows, "topic", _power("size"))),
                "lateness": _by_topic(_bins(order, "topic", _late_bin())), "missing": _by_topic(_missing(order)),
                "pauses": _by_topic(_first(order.where("pause > 0"), f.desc("pause"), wanted.top)),
                "keys": _by_topic(_key_totals(keys)), "key_counts": _by_topic(_key_counts(keys)),
                "top_keys": _by_topic(_first(keys.where("hash IS NOT NULL"), f.desc("records"), wanted.top)),
            }  # fmt: skip
        finally:
            order.unpersist()
            keys.unpersist()
    finally:
        rows.unpersist()
    lost: dict[str, int] = defaultdict(int)
    for place, progress in lake.last_entry().partitions.items():
        lost[place.topic] += progress.lost.offsets
    return [_facts(topic, totals[topic], places[topic], found, steps[topic], lost[topic]) for topic in sorted(totals)]


def _narrow(lake: Lake, wanted: ProfileOptions) -> DataFrame:
    archived = {place.topic for place in lake.last_entry().partitions}
    chosen = sorted(topic for topic in archived if re.fullmatch(wanted.topics, topic))
    rows = lake.read().where(f.col("topic").isin(chosen))
    if wanted.since_ms is not None:
        rows = rows.where(f.col("timestamp") >= f.timestamp_millis(f.lit(wanted.since_ms)))
    if wanted.until_ms is not None:
        rows = rows.where(f.col("timestamp") < f.timestamp_millis(f.lit(wanted.until_ms)))
    size = f.coalesce(f.length("key"), f.lit(0)) + f.coalesce(f.length("value"), f.lit(0))
    return rows.select(
        *_PLACE,
        "offset",
        f.unix_millis("timestamp").alias("ms"),
        size.cast("long").alias("size"),
        f.when(f.col("key").isNotNull(), f.xxhash64("key")).alias("hash"),
        f.substring("key", 1, _SHOWN_KEY + 1).alias("key"),
        f.xxhash64(f.isnull("value"), "value").alias("content"),
        f.isnull("value").alias("tombstone"),
        f.isnotnull("headers").alias("headers"),
    )


def _places(rows: DataFrame) -> DataFrame:
    return rows.groupBy(*_PLACE).agg(
        f.count("*").alias("records"),
        f.sum("size").alias("bytes"),
        f.min("ms").alias("first_ms"),
        f.max("ms").alias("last_ms"),
        f.min("offset").alias("first_offset"),
        f.max("offset").alias("last_offset"),
        f.count_if(f.isnull("hash")).alias("without_key"),
        f.count_if("tombstone").alias("tombstones"),
        f.count_if("headers").alias("with_headers"),
    )


def _totals(topic: str, places: Iterable[Row]) -> dict[str, Any]:
    found = list(places)
    sums = ("records", "bytes", "without_key", "tombstones", "with_headers")
    return {
        "topic": topic, **{name: sum(row[name] for row in found) for name in sums},
        "first_ms": min(row.first_ms for row in found), "last_ms": max(row.last_ms for row in found),
    }  # fmt: skip


def _in_order(rows: DataFrame) -> DataFrame:
    """Each record compared with those before it in its partition: its lateness, the pause before it, and missing offsets."""
    partition = Window.partitionBy(*_PLACE).orderBy("offset")
    before = f.max("ms").over(partition.rowsBetween(Window.unboundedPreceding, -1))
    late, since = f.greatest(before - f.col("ms"), f.lit(0)), f.greatest(f.col("ms") - before, f.lit(0))
    missing = f.col("offset") - f.lag("offset").over(partition) - 1
    return rows.select(
        *_PLACE,
        "ms",
        "size",
        f.coalesce(late, f.lit(0)).alias("late"),
        f.coalesce(since, f.lit(0)).alias("pause"),
        f.coalesce(missing, f.lit(0)).alias("missing"),
    )


def totals_of_percentiles(order: DataFrame) -> dict[str, Facts]:
    """Approximate percentiles: Spark's sketch has a constant size."""
    wanted = [f.lit(each) for each in _PERCENTILES.values()]
    percentiles = [f.percentile_approx(name, f.array(*wanted)).alias(name) for name in ("size", "late")]
    return {"percentiles": _by_topic(order.groupBy("topic").agg(*percentiles))}


def _volume(rows: DataFrame, steps: dict[str, int]) -> DataFrame:
    widths = rows.sparkSession.createDataFrame(list(steps.items()), "topic STRING, step BIGINT")
    start = f.floor(f.col("ms") / f.col("step")) * f.col("step")
    return _bins(rows.join(f.broadcast(widths), "topic"), "topic", start)


def _bins(rows: DataFrame, by: str, start: Column) -> DataFrame:
    return rows.groupBy(by, start.cast("long").alias("start")).agg(f.count("*").alias("records"))


def _power(name: str) -> Column:
    """The largest power of two up to the value; 0 for 0."""
    return f.when(f.col(name) > 0, f.pow(f.lit(2), f.floor(f.log2(name)))).otherwise(0)


def _late_bin() -> Column:
    found = f.lit(0)
    for start in LATE_FROM_MS:
        found = f.when(f.col("late") >= start, f.lit(start)).otherwise(found)
    return found


def _missing(order: DataFrame) -> DataFrame:
    return order.groupBy(*_PLACE).agg(f.sum("missing").alias("missing"))


def _keys(rows: DataFrame) -> DataFrame:
    """Each key with the number of its records, and of those that repeat an earlier value."""
    contents = rows.groupBy("topic", "hash", "content").agg(f.count("*").alias("n"), f.min("key").alias("key"))
    return contents.groupBy("topic", "hash").agg(
        f.sum("n").alias("records"), f.sum(f.col("n") - 1).alias("repeats"), f.min("key").alias("key")
    )


def _key_totals(keys: DataFrame) -> DataFrame:
    return (
        keys.where("hash IS NOT NULL")
        .groupBy("topic")
        .agg(f.count("*").alias("keys"), f.sum("repeats").alias("repeats"))
    )


def _key_counts(keys: DataFrame) -> DataFrame:
    by_count = keys.where("hash IS NOT NULL").groupBy("topic", _power("records").cast("long").alias("least"))
    return by_count.agg(f.count("*").alias("keys"), f.sum("records").alias("records"))


def _first(rows: DataFrame, order: Column, count: int) -> DataFrame:
    """The first ``count`` rows of each topic in that order."""
    rank = f.row_number().over(Window.partitionBy("topic").orderBy(order))
    return rows.withColumn("rank", rank).where(f.col("rank") <= count)


def _by_topic(frame: DataFrame) -> Facts:
    found: Facts = defaultdict(list)
    for row in frame.collect():
        found[row.topic].append(row)
    return found


def _facts(
    topic: str, totals: dict[str, Any], places: list[Row], found: dict[str, Facts], step_ms: int, lost: int
) -> TopicFacts:
    missing = {row.partition: row.missing for row in found["missing"][topic]}
    percentiles = found["percentiles"][topic][0]
    keys = found["keys"].get(topic)
    return TopicFacts(
        **totals,
        step_ms=step_ms,
        lost=lost,
        keys=keys[0]["keys"] if keys else 0,
        repeats=keys[0].repeats if keys else 0,
        size_percentiles=dict(zip(_PERCENTILES, percentiles.size, strict=True)),
        late_percentiles=dict(zip(_PERCENTILES, percentiles.late, strict=True)),
        partitions=sorted(
            PartitionStatistics(
                row.partition, row.records, row.bytes, row.first_offset, row.last_offset, missing[row.partition]
            )
            for row in places
        ),
        volume=sorted(Bin(row.start, row.records) for row in found["volume"][topic]),
        sizes=sorted(Bin(row.start, row.records) for row in found["sizes"][topic]),
        lateness=sorted(Bin(row.start, row.records) for row in found["lateness"][topic]),
        top_keys=[Key(_key_text(row.key), row.records, row.repeats) for row in found["top_keys"].get(topic, [])],
        key_counts=sorted(
            KeysOfCount(row.least, row["keys"], row.records) for row in found["key_counts"].get(topic, [])
        ),
        pauses=[Pause(row.partition, row.ms - row.pause, row.ms) for row in found["pauses"].get(topic, [])],
    )


def _key_text(key: bytes) -> str:
    text = bytes(key[:_SHOWN_KEY]).decode("utf-8", "backslashreplace")
    plain = "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
    return plain + "…" if len(key) > _SHOWN_KEY else plain
