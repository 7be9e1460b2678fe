"""The archive: a Structured Streaming job on Spark's Kafka source that adds every committed record of some topics to a lake.

Exactly once: Spark's checkpoint defines each batch, and the table's commit log says whether it was added. The ledger is written after the
table, from the rows that the table has. So when Spark repeats a batch after a crash, the table stays and the ledger is completed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from pykbroker.lake import ledger
from pykbroker.lake.archive_progress import ArchiveProgress
from pykbroker.lake.checkpoint_repair import CheckpointRepair
from pykbroker.lake.cluster import SourceCluster
from pykbroker.lake.errors import DataLost, LakeError, sentence
from pykbroker.lake.extreme_timestamps import ODD, SIGN, ExtremeTimestamps
from pykbroker.lake.lake import CHECKPOINT, Lake
from pykbroker.lake.ledger import LakePartition, LedgerEntry, Offsets, Range
from pykbroker.lake.lost_offsets import losses
from pykbroker.lake.record_columns import with_date

_AWAIT_S = 0.5
_RESTARTS = 5
_GREGORIAN = "1582-10-15"
_MOST_SHOWN = 10


@dataclass(frozen=True, slots=True)
class ArchiveOptions:
    """``interval_s`` is the time between two batches; if it is None, the job ends at the present end of the topics."""

    topics: str
    interval_s: float | None = None
    batch_records: int = 5_000_000
    record_losses: bool = False


class Archive:
    """One run of the job; ``progress`` has its progress."""

    def __init__(self, lake: Lake, cluster: SourceCluster, options: ArchiveOptions) -> None:
        self.lake = lake
        self.cluster = cluster
        self.options = options
        self.progress = ArchiveProgress(LedgerEntry())
        self._say: Callable[[str], None] = lambda _: None

    def run(
        self,
        tell: Callable[[ArchiveProgress], None],
        ended: Callable[[], bool] = lambda: False,
        say: Callable[[str], None] = lambda _: None,
    ) -> ArchiveProgress:
        """Run until the end of the topics or until ``ended`` returns True; the next run repeats a batch that was interrupted.

        ``say`` is called with a sentence if the checkpoint was damaged and is made anew, or if records are kept beside the table.

        Raises LakeError or DataLost if the job cannot go on. All complete batches stay, and the next run continues after them.
        """
        self._say = say
        self.lake.table.recover()
        if mended := CheckpointRepair(self.lake, self.cluster.ids, self._begins).run():
            say(mended)
        self._check_nothing_is_lost()
        self._look_ahead()
        if self.options.interval_s is None:
            self._check_a_topic_matches()
        restarts = 0
        while True:
            before = self.progress.batch
            query = self._start()
            try:
                while not (ended() or query.awaitTermination(_AWAIT_S)):
                    tell(self._seen(query))
                tell(self._seen(query))
                if self.options.interval_s is None and not (ended() or self.options.record_losses):
                    self._raise_for_gone()  # of a stream without a partition left, Spark says nothing
                return self.progress
            except StreamingQueryException as error:
                restarts = 0 if self.progress.batch > before else restarts + 1
                self._look_into(error, again=self.options.interval_s is not None and restarts <= _RESTARTS)
                time.sleep(min(2**restarts, 30) / 2)
            finally:
                with suppress(Exception):  # Java may be gone, which is said already
                    query.stop()

    def _seen(self, query: StreamingQuery) -> ArchiveProgress:
        """The progress. What is only shown never ends the job: the form of reports differs between versions of Spark."""
        with suppress(ValueError, LookupError, TypeError, AttributeError):
            self.progress.seen(query.lastProgress)
        return self.progress

    def _look_ahead(self) -> None:
        """Ask for the lag, to show it before Spark's first report."""
        places = self.cluster.partitions(self.cluster.matching(self.options.topics))
        self.progress = ArchiveProgress(
            self.lake.last_entry(), self.cluster.earliest(places), self.cluster.ends(places)
        )

    def _start(self) -> StreamingQuery:
        options = {
            **self.cluster.spark_options(),
            "subscribePattern": f"^(?:{self.options.topics})$",  # Spark also accepts a match of part of the name
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": str(self.options.batch_records),
            "failOnDataLoss": str(not self.options.record_losses).lower(),
        }
        records = self.lake.spark.readStream.format("kafka").options(**options).load()
        writer = with_date(records).writeStream.foreachBatch(self._take)
        writer = writer.option("checkpointLocation", self.lake.folder.at(CHECKPOINT))
        interval = self.options.interval_s
        writer = (
            writer.trigger(availableNow=True)
            if interval is None
            else writer.trigger(processingTime=f"{interval} seconds")
        )
        return writer.start()

    # One batch

    def _take(self, rows: DataFrame, batch: int) -> None:
        before = self.lake.entry(batch - 1)
        ends = ledger.source_offsets(self._checkpointed(f"offsets/{batch}"))
        before = before.with_ids(self._same_topics(before, {place.topic for place in ends}))
        table = self.lake.table.of(rows.sparkSession)
        try:
            taken = table.append(_arranged(_without(rows, self._read_before(before, batch, ends))), batch)
        except (PySparkException, Py4JJavaError) as error:
            if SIGN not in str(error):
                raise
            taken = table.append(_arranged(self._around_extreme(before, batch, ends)), batch)
        entry = self._entry_after(before, taken, batch, ends)
        self.lake.write_entry(entry)
        self.progress.took(entry)
        table.tidy_after(batch)

    def _around_extreme(self, before: LedgerEntry, batch: int, ends: Offsets) -> DataFrame:
        """The batch without the records whose timestamps Spark cannot hold; these are kept beside the table."""
        starts = before.starts(ends, ledger.offsets_of(self._checkpointed("sources/0/0")))
        begins = self.cluster.earliest(starts) if self.options.record_losses else {}
        ranges = {
            place: (min(max(start, begins.get(place, 0)), ends[place]), ends[place]) for place, start in starts.items()
        }
        records = ExtremeTimestamps(self.lake, self.cluster)
        kept = records.keep(batch, ranges)
        self._say(
            f"Spark's timestamps cannot hold those of {len(kept)} records, which are kept in "
            f"{self.lake.folder.at(ODD)}/{batch:012d}.json, not in the table: {_summary([str(each) for each in kept])}."
        )
        extreme: dict[LakePartition, list[int]] = {}
        for each in kept:
            extreme.setdefault(each.place, []).append(each.offset)
        loss = {"failOnDataLoss": str(not self.options.record_losses).lower()}
        return with_date(records.around(ranges, extreme, loss))

    def _read_before(self, before: LedgerEntry, batch: int, ends: Offsets) -> dict[LakePartition, int]:
        """Partitions that the previous batch did not have and an earlier one had, as where --topics has matched less meanwhile, and the end of
        what was read of them: Spark takes them for new ones, and reads them from their beginning.
        """
        previous = ledger.source_offsets(self._checkpointed(f"offsets/{batch - 1}")) if batch else {}
        return {
            place: before.partitions[place].until
            for place in ends
            if place in before.partitions and place not in previous
        }

    def _same_topics(self, before: LedgerEntry, topics: Collection[str]) -> dict[str, str]:
        """The ids of a batch's topics. Raises DataLost if one was made anew since the previous batch."""
        ids = self.cluster.ids(topics)
        _refuse_mixture(before, {}, ids)
        return ids

    def _begins(self) -> Offsets:
        return self.cluster.earliest(self.cluster.partitions(self.cluster.matching(self.options.topics)))

    def _entry_after(self, before: LedgerEntry, taken: DataFrame, batch: int, ends: Offsets) -> LedgerEntry:
        initial = ledger.offsets_of(self._checkpointed("sources/0/0"))
        is_julian = f.min("timestamp") < f.lit(_GREGORIAN).cast("timestamp")
        counted = taken.groupBy("topic", "partition").agg(f.count("*"), is_julian).collect()
        rows = {LakePartition(*row[:2]): row[2] for row in counted}
        if moved := [str(LakePartition(*row[:2])) for row in counted if row[3]]:
            self._say(
                f"Batch {batch} has timestamps before {_GREGORIAN}, which Spark's Kafka source moves by the difference of the Julian and the "
                f"Gregorian calendar: {_summary(moved)}."
            )
        starts = before.starts(ends, initial)
        lost = losses(self.lake.folder, batch, taken, self._gone(starts, ends)) if self.options.record_losses else {}
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return before.after(batch, now, ends, initial, rows, lost)

    def _checkpointed(self, name: str) -> str:
        text = self.lake.folder.read(f"{CHECKPOINT}/{name}")
        if text is None:
            raise LakeError(
                f"{self.lake.folder.at(CHECKPOINT)} has no {name}: it was deleted while the archive was running, or is damaged."
            )
        return text

    def _gone(self, starts: Offsets, ends: Offsets) -> dict[LakePartition, Range]:
        """The offsets of this batch that the broker no longer has."""
        begins = self.cluster.earliest(starts)
        limits = {place: min(begin, ends[place]) for place, begin in begins.items()}
        return {place: (starts[place], limit) for place, limit in limits.items() if starts[place] < limit}

    # What is lost

    def _check_nothing_is_lost(self) -> None:
        entry = self.lake.last_entry()
        ids = self.cluster.ids({place.topic for place in entry.partitions})
        _refuse_mixture(entry, self.cluster.ends(entry.partitions), ids)
        if not self.options.record_losses:
            self._raise_for_expired(entry)
            self._raise_for_gone()

    def _check_a_topic_matches(self) -> None:
        """A job that follows waits for its topics. One that accepts losses may find that all were deleted."""
        lost_all = self.options.record_losses and self.progress.entry.partitions
        if self.progress.finds_no_topic and not lost_all:
            raise LakeError(
                f"No topic matches {self.options.topics!r}; it is the whole name that must, internal topics left out. With --follow, the "
                "archive waits for topics."
            )

    def _raise_for_expired(self, entry: LedgerEntry) -> None:
        gone = list(ledger.expired(entry, self.cluster.earliest(entry.partitions)))
        if gone:
            shown = _summary([f"{place} offsets {start} to {end - 1}" for place, (start, end) in gone])
            raise DataLost(
                f"Records expired on the broker before they were archived: {shown}. Run it again with --on-data-loss record "
                "to write this down in the ledger and go on with what is left."
            )

    def _raise_for_gone(self) -> None:
        """Of a topic that was deleted or is no longer asked for, Spark names neither itself nor the reason. One whose loss was accepted is no
        longer in the stream.
        """
        entry = self.lake.last_entry()
        log = self.lake.folder.read(f"{CHECKPOINT}/offsets/{entry.batch}")
        streamed = ledger.source_offsets(log).keys() if log else entry.partitions.keys()
        topics = {place.topic for place in streamed & entry.partitions.keys()}
        there = self.cluster.partitions(topics)
        if left := sorted(topics & {place.topic for place in there} - self.cluster.matching(self.options.topics)):
            raise DataLost(
                f"The lake has {', '.join(left[:_MOST_SHOWN])} as well, which {self.options.topics!r} does not match. Match all topics of the "
                "lake with --topics, or leave these as they are with --on-data-loss record; a later run may match them again."
            )
        gone = [
            f"{place} (up to offset {each.until})"
            for place, each in entry.partitions.items()
            if place in streamed and place not in there
        ]
        if gone:
            raise DataLost(
                f"The broker no longer has partitions that were archived: {_summary(gone)}. What was archived stays. Run it again with "
                "--on-data-loss record to go on with the other topics."
            )

    def _look_into(self, error: StreamingQueryException, *, again: bool) -> None:
        """Raise an error with the cause of a failure, or return if the job may be started again."""
        self._check_nothing_is_lost()
        message = str(error)
        if "data may have been" in message or "KAFKA_DATA_LOSS" in message:
            raise DataLost(f"Spark found records missing: {sentence(message)}") from None
        if not again:
            raise LakeError(f"The job failed after batch {self.progress.batch}: {sentence(message)}") from None


def _refuse_mixture(entry: LedgerEntry, ends: Offsets, ids: Mapping[str, str]) -> None:
    for place, how in ledger.recreated(entry, ends, ids).items():
        raise DataLost(
            f"{place} was {how}: the topic was deleted and made anew. "
            "This lake keeps the old topic; archive the new one to a folder of its own."
        )


def _summary(partitions: list[str]) -> str:
    left = len(partitions) - _MOST_SHOWN
    return ", ".join(partitions[:_MOST_SHOWN]) + (f" and {left} more" if left > 0 else "")


def _without(rows: DataFrame, read_before: Offsets) -> DataFrame:
    """The rows without those before these offsets."""
    if not read_before:
        return rows
    limits = [(*place, until) for place, until in read_before.items()]
    frame = rows.sparkSession.createDataFrame(limits, "topic STRING, partition INT, until BIGINT")
    joined = rows.join(f.broadcast(frame), ["topic", "partition"], "left")
    return joined.where("until IS NULL OR offset >= until").select(*rows.columns)


def _arranged(rows: DataFrame) -> DataFrame:
    """One file for each topic and day, or several for a large one; in offset order, so that files have narrow ranges of offsets."""
    rows.sparkSession.conf.set("spark.sql.adaptive.enabled", "true")
    return rows.hint("rebalance", "topic", "date").sortWithinPartitions("topic", "date", "partition", "offset")
