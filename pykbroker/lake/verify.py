"""Compares a lake with the broker that it was archived from: counts and checksums of ranges of offsets, computed in Spark.

Records are compared one by one only in ranges that differ. The driver gets only sums of partitions and a sample of differences.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pykbroker.lake.cluster import SourceCluster
from pykbroker.lake.errors import LakeError
from pykbroker.lake.extreme_timestamps import ExtremeTimestamps
from pykbroker.lake.lake import Lake
from pykbroker.lake.ledger import LakePartition, LedgerEntry, Range, recreated
from pykbroker.lake.record_columns import COLUMNS
from pykbroker.lake.row_counts import rows_within, shortages
from pykbroker.lake.values.decoded_row_counts import decoded_shortages

_PARTITION = ["topic", "partition"]
_BUCKET = [*_PARTITION, "bucket"]
_PLACE = [*_PARTITION, "offset"]
_COMPARED = ("timestamp", "timestampType", "key", "value", "headers")


class OffsetDifference(NamedTuple):
    """An offset that differs. ``kind`` is ``missing`` or ``extra`` (in the lake), ``duplicate``, or the columns that differ."""

    topic: str
    partition: int
    offset: int
    kind: str


class Compared(NamedTuple):
    """A partition: the range that both sides have, and the number of rows of each in it."""

    place: LakePartition
    range: Range
    broker_rows: int
    lake_rows: int
    expired: int
    """The number of archived offsets before the range, which the broker no longer has."""


@dataclass(frozen=True, slots=True)
class Report:
    """``ranges_differ`` counts ranges of offsets; ``differences`` is a sample; ``shortages`` are sentences about whole partitions."""

    partitions: list[Compared]
    ranges_differ: int
    differences: list[OffsetDifference]
    shortages: list[str]

    @property
    def is_equal(self) -> bool:
        return not (self.ranges_differ or self.differences or self.shortages)


Sums = dict[LakePartition, tuple[int, int]]
"""For each partition the number of rows of the broker and of the lake."""


@dataclass(frozen=True, slots=True)
class Verification:
    """``range_records`` offsets share a checksum; at most ``sample`` differences are reported."""

    lake: Lake
    cluster: SourceCluster
    range_records: int = 100_000
    sample: int = 100

    def run(self, topics: str | None = None) -> Report:
        """Compare all topics of the ledger, or those that match. Raises LakeError if there are none or the cluster does not answer."""
        entry = _chosen(self.lake.last_entry(), topics)
        there = {place.topic for place in entry.partitions}
        ids = self.cluster.ids(there)
        rebuilt = recreated(entry, self.cluster.ends(entry.partitions), ids)
        told = [
            *shortages(self.lake, entry),
            *decoded_shortages(self.lake, there),
            *(_rebuilt_note(place, reason) for place, reason in rebuilt.items()),
        ]
        ranges = self._ranges(entry, rebuilt)
        both = {place: each for place, each in ranges.items() if each[0] < each[1]}
        sums, count, found = self._compared(both) if both else ({}, 0, [])
        partitions = [
            Compared(place, each, *sums.get(place, (0, 0)), expired=each[0] - entry.partitions[place].begin)
            for place, each in sorted(ranges.items())
        ]
        return Report(partitions, count, found, told)

    def _ranges(self, entry: LedgerEntry, rebuilt: Collection[LakePartition]) -> dict[LakePartition, Range]:
        """For each partition the offsets that were archived and that the broker still has; empty if the partition is gone."""
        earliest = self.cluster.earliest(entry.partitions)
        return {
            place: (min(max(each.begin, earliest.get(place, each.until)), each.until), each.until)
            for place, each in entry.partitions.items()
            if place not in rebuilt
        }

    def _compared(self, ranges: Mapping[LakePartition, Range]) -> tuple[Sums, int, list[OffsetDifference]]:
        """The sums of these partitions, the number of ranges that differ, and a sample of the differences."""
        compacted = self.cluster.compacted({place.topic for place in ranges})
        broker, lake = self._broker(ranges), rows_within(self.lake, ranges).select(*COLUMNS)
        buckets = self._buckets(broker, lake).persist()
        try:
            unequal = buckets.where(_unequal() & ~f.col("topic").isin(sorted(compacted))).select(_BUCKET)
            sums, count = _totals(buckets), unequal.count()
            # Of a compacted topic, the broker may have fewer records in every range: all its records are compared.
            shown = unequal.orderBy(_BUCKET).limit(self.sample)  # each has at least one difference
            looked_at = self._within(broker, shown, compacted), self._within(lake, shown, compacted)
            different = _differences(*looked_at, compacted).orderBy(_PLACE).limit(self.sample)
            found = different.collect() if count or compacted else []
        finally:
            buckets.unpersist()
        return sums, count, sorted(OffsetDifference(*row) for row in found)

    def _broker(self, ranges: Mapping[LakePartition, Range]) -> DataFrame:
        records = ExtremeTimestamps(self.lake, self.cluster)
        return records.around(ranges, records.known(), {}).select(*COLUMNS)

    def _buckets(self, broker: DataFrame, lake: DataFrame) -> DataFrame:
        sides = self._sums(broker, "broker").join(self._sums(lake, "lake"), _BUCKET, "full")
        return sides.fillna(0, ["broker_rows", "lake_rows"])

    def _sums(self, rows: DataFrame, side: str) -> DataFrame:
        digests = rows.select(*_PARTITION, self._bucket(), digest().alias("digest"))
        sums = f.sum(f.col("digest").cast("decimal(20,0)")).alias(f"{side}_sum")
        return digests.groupBy(_BUCKET).agg(f.count("*").alias(f"{side}_rows"), sums)

    def _bucket(self) -> Column:
        return f.floor(f.col("offset") / self.range_records).alias("bucket")

    def _within(self, rows: DataFrame, buckets: DataFrame, compacted: Iterable[str]) -> DataFrame:
        """The rows of these buckets, and all rows of compacted topics."""
        with_bucket = rows.withColumn("bucket", self._bucket())
        chosen = with_bucket.join(f.broadcast(buckets), _BUCKET, "left_semi").select(*COLUMNS)
        return chosen.union(rows.where(f.col("topic").isin(sorted(compacted)))) if compacted else chosen


def _totals(buckets: DataFrame) -> Sums:
    sums = f.sum("broker_rows").alias("broker"), f.sum("lake_rows").alias("lake")
    found = buckets.groupBy(_PARTITION).agg(*sums).collect()
    return {LakePartition(row.topic, row.partition): (row.broker, row.lake) for row in found}


def digest() -> Column:
    """A 64-bit hash of the whole record. Null and empty differ in it, unlike in xxhash64 alone."""
    return f.xxhash64("offset", "timestamp", "timestampType", *(_exact(name) for name in ("key", "value", "headers")))


def _exact(name: str) -> Column:
    """A column in a form in which null and empty differ."""
    if name != "headers":
        return f.struct(f.isnull(name), f.col(name))
    pairs = f.transform("headers", lambda each: f.struct(each["key"], f.isnull(each["value"]), each["value"]))
    return f.struct(f.coalesce(f.size("headers"), f.lit(-1)), pairs)


def _unequal() -> Column:
    return (f.col("broker_rows") != f.col("lake_rows")) | ~f.col("broker_sum").eqNullSafe(f.col("lake_sum"))


def _differences(broker: DataFrame, lake: DataFrame, compacted: Iterable[str]) -> DataFrame:
    """The place and kind of each record that differs."""
    sides = [
        rows.groupBy(_PLACE).agg(
            f.count("*").alias(f"{side}_rows"),
            *(f.first(f.xxhash64(_exact(name) if name in ("key", "value", "headers") else name)).alias(f"{side}_{name}") for name in _COMPARED),
        )
        for side, rows in (("broker", broker), ("lake", lake))
    ]  # fmt: skip
    both = sides[0].join(sides[1], _PLACE, "full")
    unlike = [
        f.when(~f.col(f"broker_{name}").eqNullSafe(f.col(f"lake_{name}")), f.lit(name)) for name in _COMPARED
    ]  # fmt: skip
    differing = f.concat_ws(", ", *unlike)
    kind = (
        f.when(f.col("lake_rows").isNull(), "missing")
        .when(f.col("broker_rows").isNull() & ~f.col("topic").isin(sorted(compacted)), "extra")
        .when(f.col("lake_rows") > 1, "duplicate")
        .when(f.col("broker_rows").isNotNull() & (differing != ""), differing)
    )
    return both.select(*_PLACE, kind.alias("kind")).where("kind IS NOT NULL")


def _rebuilt_note(place: LakePartition, reason: str) -> str:
    return f"{place}: {reason}: the topic was deleted and made anew, so there is nothing to compare"


def _chosen(entry: LedgerEntry, topics: str | None) -> LedgerEntry:
    chosen = entry.chosen(topics or ".*")
    if not chosen.partitions:
        raise LakeError(
            "Nothing was archived yet." if topics is None else f"The lake has no topic that matches {topics!r}."
        )
    return chosen
