"""Replays archived records into topics: in the order of each partition, with their timestamps, keys and headers.

Each record is sent exactly once, however often the replay is interrupted: see ``replay_task``. Each partition is sent by one task.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from pykbroker.lake.bounded_calls import ended_within
from pykbroker.lake.errors import LakeError
from pykbroker.lake.lake import Lake
from pykbroker.lake.ledger import LakePartition
from pykbroker.lake.replay_progress import ReplayProgress
from pykbroker.lake.replay_task import COORDINATOR_S, SENT, Sending, committed
from pykbroker.lake.row_counts import shortages

_TIMEOUT_S = 30.0
_LOOK_S = 5.0
"""The progress is shown without waiting for a cluster that does not answer."""


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What is replayed, to which topics, and how fast: ``speed`` times as fast as recorded, or at full speed if it is None."""

    name: str = "pykbroker-replay"
    topics: str = ".*"
    since_ms: int | None = None
    until_ms: int | None = None
    keys: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    speed: float | None = None
    topic_configs: Mapping[str, str] = field(default_factory=dict)
    incomplete: bool = False
    """Send also partitions of which the lake does not have all rows that were archived."""

    def target(self, topic: str) -> str:
        return self.rename.get(topic, self.prefix + topic)


class Replay:
    """One run; another with the same name continues where it ended. ``client`` are librdkafka's settings."""

    def __init__(self, lake: Lake, bootstrap: str, client: Mapping[str, str], options: ReplayOptions) -> None:
        self.lake = lake
        self.options = options
        self.client = {"bootstrap.servers": bootstrap, **client}
        entry = lake.last_entry()
        self._entry = entry.chosen(options.topics)
        self._places = {place: progress.until for place, progress in self._entry.partitions.items()}
        self._course = ReplayProgress(self._places)
        ids = entry.ids
        self._origins = {
            place.topic: f"{lake.description.cluster_id} {ids.get(place.topic, '')}".rstrip() for place in self._places
        }

    def look(self) -> ReplayProgress:
        """The progress; the last known one if the cluster does not answer."""
        try:
            return self._course.seen(self._positions(_LOOK_S))
        except (KafkaException, LakeError):  # ``run`` reports it
            return self._course

    def run(self) -> dict[LakePartition, int]:
        """Send the records; returns the number of sent rows of each partition. Raises LakeError if the lake is not whole, the topics do not
        fit or the cluster refuses.
        """
        if not self._places:
            raise LakeError(f"The lake {self.lake.folder.uri} has no topic that matches {self.options.topics!r}.")
        if len(set(self._targets().values())) < len(self._targets()):
            raise LakeError("Two topics would become one: --rename gives them the same name.")
        if not self.options.incomplete:
            self._check_whole()
        try:
            self._make_topics()
            positions = self._positions()
        except KafkaException as error:
            raise LakeError(f"Kafka at {self.client['bootstrap.servers']}: {error.args[0].str()}.") from None
        rows = self._rows(positions)
        self._course.aim(self._last(rows), positions)
        sending = Sending(self.options.name, self.client, self._targets(), self._origins)
        if self.options.speed is not None:
            first = rows.agg(f.min("ms")).first()[0]
            sending = replace(sending, begun_s=time.time(), first_ms=first or 0, speed=self.options.speed)
        sent = self._arranged(rows).mapInArrow(sending.send, SENT).groupBy("topic", "partition").agg(f.sum("rows"))
        return {LakePartition(row[0], row[1]): row[2] for row in sent.collect()}

    def _last(self, rows: DataFrame) -> dict[LakePartition, int]:
        """The position of each partition behind its last row. Markers and aborted records, or rows that are filtered out, may follow."""
        found = rows.groupBy("topic", "partition").agg(f.max("offset")).collect()
        return {LakePartition(*row[:2]): row[2] + 1 for row in found}

    def _check_whole(self) -> None:
        """A replay goes on behind what it has sent, so a row that is missing now would never be sent."""
        if missing := shortages(self.lake, self._entry):
            raise LakeError(
                f"{missing[0]}. If `pykbroker lake compact` is running, run this again when it has ended; else a file is gone or empty: put "
                "back a copy of it (`pykbroker lake verify` shows which rows are missing), or send what is there with --on-data-loss send."
            )

    def _targets(self) -> dict[str, str]:
        return {place.topic: self.options.target(place.topic) for place in self._places}

    def _make_topics(self) -> None:
        """Create missing topics, without retention: their records are old when they arrive."""
        admin = AdminClient({**self.client, "log_level": 0})
        there = {name: len(topic.partitions) for name, topic in admin.list_topics(timeout=_TIMEOUT_S).topics.items()}
        wanted: dict[str, int] = {}
        for place in self._places:
            target = self.options.target(place.topic)
            wanted[target] = max(wanted.get(target, 0), place.partition + 1)
        for target, count in wanted.items():
            if there.get(target, count) < count:
                raise LakeError(
                    f"The topic {target} has {there[target]} partitions, and {count} were archived: partitions would not keep "
                    "their order. Raise its number with `pykbroker topics alter`, or replay into another with --rename."
                )
        config = {"retention.ms": "-1", **self.options.topic_configs}
        new = [NewTopic(name, count, config=config) for name, count in wanted.items() if name not in there]
        for future in admin.create_topics(new).values() if new else ():
            future.result(timeout=_TIMEOUT_S)

    def _positions(self, within_s: float = COORDINATOR_S) -> dict[LakePartition, int]:
        """The next archived offset of each partition, after what earlier runs with this name have sent.

        Raises LakeError if those runs replayed another lake, KafkaException if the cluster does not answer.
        """
        places = {TopicPartition(self.options.target(place.topic), place.partition): place for place in self._places}
        group = Consumer({**self.client, "log_level": 0, "group.id": self.options.name})
        try:
            found = committed(group, list(places), within_s)
        finally:
            ended_within(_TIMEOUT_S, group.close)
        positions = {}
        for each in found:
            place = places[TopicPartition(each.topic, each.partition)]
            self._check_same(place, each.metadata or "")
            positions[place] = max(each.offset, 0)
        return positions

    def _check_same(self, place: LakePartition, sent: str) -> None:
        """Compare prefixes: earlier versions committed positions with the cluster id alone, or without one."""
        ours = self._origins[place.topic]
        if not (sent.startswith(ours) or ours.startswith(sent)):
            raise LakeError(
                f"The replay {self.options.name} has sent {place} as another lake has it (cluster and topic {sent}, and here {ours}): "
                "where it ended there says nothing of this one. Give this replay a name of its own with --name."
            )

    def _rows(self, positions: Mapping[LakePartition, int]) -> DataFrame:
        options = self.options
        limits = [(*place, positions[place], until) for place, until in self._places.items()]
        schema = "topic STRING, partition INT, from BIGINT, until BIGINT"
        rows = self.lake.read().where(f.col("topic").isin(sorted({place.topic for place in self._places})))
        rows = rows.join(f.broadcast(self.lake.spark.createDataFrame(limits, schema)), ["topic", "partition"])
        rows = rows.where("offset >= `from` AND offset < until")
        if options.since_ms is not None:
            rows = rows.where(f.col("timestamp") >= f.timestamp_millis(f.lit(options.since_ms)))
        if options.until_ms is not None:
            rows = rows.where(f.col("timestamp") < f.timestamp_millis(f.lit(options.until_ms)))
        if options.keys:
            rows = rows.where(f.col("key").isin([bytearray(key.encode()) for key in options.keys]))
        return rows.withColumn("ms", f.unix_millis("timestamp"))

    def _arranged(self, rows: DataFrame) -> DataFrame:
        """Sort each partition by offset, in one task. At recorded speed, a task sends its partitions side by side, ordered by ``pace``:
        the latest timestamp so far in the partition, which never contradicts the order of offsets.
        """
        cores = self.lake.spark.sparkContext.defaultParallelism
        columns: list[Any] = ["topic", "partition", "offset", "ms", "key", "value", "headers"]
        order = ["topic", "partition", "offset"]
        if self.options.speed is None:
            return (
                rows.select(columns)
                .repartition(min(len(self._places), 4 * cores), *order[:2])
                .sortWithinPartitions(order)
            )
        spread = rows.select(columns).repartition(min(len(self._places), cores), *order[:2])
        so_far = (
            Window.partitionBy(*order[:2]).orderBy("offset").rowsBetween(Window.unboundedPreceding, Window.currentRow)
        )
        return spread.withColumn("pace", f.max("ms").over(so_far)).sortWithinPartitions("pace", *order)
