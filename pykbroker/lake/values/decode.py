"""Decodes an archived topic: values into columns; what cannot be decoded into a quarantine, with the reason.

It is a separate job after the archive, which keeps every record unchanged whatever its schema: a wrong schema costs a second decoding
and no records, and the broker is read once. A batch consists of several of the archive's batches. It is planned in a file before it
begins, and each table adds a batch only once, so a crash at any point changes nothing.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pykbroker.lake.errors import LakeError
from pykbroker.lake.ledger import LedgerEntry
from pykbroker.lake.record_columns import IN_FILES
from pykbroker.lake.values.decode_options import DecodeOptions, ValueFormat
from pykbroker.lake.values.decode_progress import DecodeAccount, Done, PlannedBatch
from pykbroker.lake.values.decoded_tables import DecodedTopic, as_decoded, as_quarantined
from pykbroker.lake.values.schema_survey import Surveyor
from pykbroker.lake.values.tasks import Decoding
from pykbroker.lake.values.types import Columns, paths_of, without

Tell = Callable[["Decode"], None]
Ranges = Mapping[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class DecodeResult:
    """The result of a run: the number of decoded rows, the number of rows in the quarantine now, and the new columns."""

    topic: str
    decoded: int
    quarantined: int
    new_columns: list[str]


class Decode:
    """One run over one topic. A batch has at most ``batch_records`` archived offsets, unless the archive's own batches have more."""

    def __init__(
        self,
        decoded: DecodedTopic,
        surveyor: Surveyor,
        batch_records: int = 1_000_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.decoded = decoded
        self.surveyor = surveyor
        self.batch_records = batch_records
        self.account = decoded.account()
        self._clock = clock
        self._begun_s = clock()
        self._seen = 0

    @property
    def options(self) -> DecodeOptions:
        """How values are decoded."""
        assert self.decoded.options is not None, "keep_how was called before"
        return self.decoded.options

    @property
    def lag(self) -> int:
        """The number of archived offsets that were not decoded yet."""
        return self.account.behind(self.decoded.lake.last_entry().of_topic(self.decoded.topic))

    def line(self) -> str:
        """For example ``flights: 1,200,000 rows, 3 in quarantine, 85,000 rows/s, 300,000 behind, 4 s left``."""
        rate = self._seen / max(self._clock() - self._begun_s, 0.001)
        left = f", {self.lag / rate:.0f} s left" if rate else ""
        counts = f"{self.account.rows:,} rows, {self.account.quarantined:,} in quarantine"
        return f"{self.decoded.topic}: {counts}, {rate:,.0f} rows/s, {self.lag:,} behind{left}"

    def run(self, tell: Tell, ended: Callable[[], bool] = lambda: False) -> DecodeResult:
        """Decode the records archived since the last run; stop after a batch if ``ended`` returns True.

        Raises LakeError if the job cannot go on; the next run continues from there.
        """
        before = self._begin()
        while not ended() and (ends := self._next()) is not None:
            ranges, rows = {}, {}
            for number, progress in ends.of_topic(self.decoded.topic).items():
                done = self.account.partitions.get(number, Done(progress.begin, progress.begin))
                ranges[number] = (done.until, progress.until)
                rows[number] = progress.rows - done.rows - done.quarantined
            self._carry_out(self._planned(ranges, rows))
            self._seen += sum(rows.values())
            tell(self)
        return self._outcome(before)

    def run_again(self) -> DecodeResult:
        """Decode the quarantine again, with the schemas that are known now. Raises LakeError as ``run``."""
        before = self._begin()
        if self.account.quarantined:
            self._carry_out(
                self._planned({number: (done.until, done.until) for number, done in self.account.partitions.items()})
            )
        return self._outcome(before)

    def _begin(self) -> DecodeAccount:
        """Finish the batch that a killed run has begun; returns the account before it."""
        before = self.account
        self.decoded.values(before.columns).recover()
        self.decoded.quarantine.recover()
        plan = self.decoded.plan(before.batch + 1)
        if plan is not None:
            self._carry_out(plan)
        return before

    def _outcome(self, before: DecodeAccount) -> DecodeResult:
        new = [name for name in self.account.columns if name not in before.columns]
        return DecodeResult(self.decoded.topic, self.account.rows - before.rows, self.account.quarantined, new)

    def _next(self) -> LedgerEntry | None:
        """The archive's entry at which the next batch ends; None if everything is decoded."""
        batches = self.decoded.lake.batches()
        topic = self.decoded.topic
        here = sum(done.until for done in self.account.partitions.values())

        def untils(batch: int) -> int:
            return sum(_untils(self.decoded.lake.entry(batch), topic).values())

        first = bisect_right(batches, here, key=untils)
        if first == len(batches):
            return None
        last = bisect_right(batches, here + self.batch_records, first, key=untils)
        return self.decoded.lake.entry(batches[max(first, last - 1)])

    def _planned(self, ranges: Ranges, rows: Mapping[int, int] | None = None) -> PlannedBatch:
        """The plan of the next batch; without ``rows``, one that decodes the quarantine again."""
        there = self.decoded.quarantine.read() if rows is None else self._rows(ranges)
        columns = self._filled(self.surveyor.columns(self.decoded, self.account.columns, there), there)
        plan = PlannedBatch(self.account.batch + 1, columns, dict(ranges), dict(rows or {}), again=rows is None)
        self.decoded.keep_plan(plan)
        return plan

    def _filled(self, columns: Columns, rows: DataFrame) -> Columns:
        """The columns without those that were inferred from values which go to the quarantine alone: it leaves nothing behind."""
        known = {*paths_of(self.account.columns), *paths_of(self.options.columns or {})}
        new = [path for path in paths_of(columns) if path not in known]
        if self.options.kind is not ValueFormat.JSON or not new:
            return columns
        task = Decoding(self.options, self.decoded.lake.description.format, columns, self.decoded.schemas())
        found = rows.mapInArrow(task.decode, task.ddl)
        is_whole = f.col("error").isNull()
        counts = [f.count_if(is_whole & _at(path).isNotNull()) for path in new]
        refused, *filled = found.agg(f.count_if(~is_whole), *counts).first() or (0,)
        return (
            without(columns, {path for path, count in zip(new, filled, strict=True) if not count})
            if refused
            else columns
        )

    def _rows(self, ranges: Ranges) -> DataFrame:
        """The archived records of these offsets."""
        lowest = min(begin for begin, _ in ranges.values())
        highest = max(until for _, until in ranges.values())
        limits = [(number, *each) for number, each in ranges.items()]
        frame = self.decoded.lake.spark.createDataFrame(limits, "partition INT, from BIGINT, until BIGINT")
        rows = self.decoded.lake.read().where(f.col("topic") == self.decoded.topic)
        rows = rows.where((f.col("offset") >= lowest) & (f.col("offset") < highest))
        inside = rows.join(f.broadcast(frame), "partition").where("offset >= `from` AND offset < until")
        return inside.select(*IN_FILES)

    def _carry_out(self, plan: PlannedBatch) -> None:
        task = Decoding(self.options, self.decoded.lake.description.format, plan.columns, self.decoded.schemas())
        rows = self.decoded.quarantine.read().select(*IN_FILES) if plan.again else self._rows(plan.ranges)
        found = rows.mapInArrow(task.decode, task.ddl).persist()
        try:
            self._check_whole(found, plan)
            taken = self.decoded.values(plan.columns).append(as_decoded(found, self.options, plan.columns), plan.batch)
            quarantine, refused = self.decoded.quarantine, as_quarantined(found)
            take = quarantine.replace if plan.again else quarantine.append
            left = _counted(take(refused, plan.batch), "partition")
            at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            self.account = self.account.after(plan, at, _counted(taken, "kafka_partition"), left)
        finally:
            found.unpersist()
        self.decoded.keep_account(self.account)
        for table in self.decoded.tables:
            table.tidy_after(plan.batch)

    def _check_whole(self, found: DataFrame, plan: PlannedBatch) -> None:
        """Compare with the archive's counts before anything is written: compaction of plain files may hide rows for a moment."""
        counts = _counted(found, "partition") if plan.rows else {}
        for number, wanted in plan.rows.items():
            if counts.get(number, 0) != wanted:
                begin, until = plan.ranges[number]
                raise LakeError(
                    f"{self.decoded.topic}-{number}, offsets {begin} to {until - 1}: the ledger counted {wanted} rows, and the lake "
                    f"has {counts.get(number, 0)}. If `pykbroker lake compact` was running, run this again; else `pykbroker lake "
                    "verify` shows which rows differ."
                )


def _at(path: tuple[str, ...]) -> Column:
    column = f.col("decoded")
    for name in path:
        column = column.getField(name)
    return column


def _counted(rows: DataFrame, partition: str) -> dict[int, int]:
    return {row[0]: row[1] for row in rows.groupBy(partition).count().collect()}


def _untils(entry: LedgerEntry, topic: str) -> dict[int, int]:
    return {number: each.until for number, each in entry.of_topic(topic).items()}
