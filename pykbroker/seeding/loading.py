"""Imports a seed into a cluster: its topics, all or none, then its records in order, in slices.

It runs on the cluster's loop, with requests served in between.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn

from pykbroker.controller.topics import NewTopic
from pykbroker.runtime.waits import Deferred, attempt, gather
from pykbroker.seeding.partitioner import Partitioner
from pykbroker.seeding.seed import BadSeed, Seed, SeedRecord, SeedTopic
from pykbroker.wire import records as wire
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.controller.mutation_quotas import Charged
    from pykbroker.controller.topics import TopicResult
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.slices import Steps

#: The topic of the schema registry.
_SCHEMAS: Final = "_schemas"
#: Most records, and approximate bytes, of one batch.
_BATCH_RECORDS: Final = 100
_BATCH_BYTES: Final = 256 * 1024
#: Most bytes of a record beside its own content.
_OVERHEAD: Final = 64


@dataclass(frozen=True, slots=True)
class LoadedSeed:
    """The result of an import."""

    topics: int
    records: int

    def __str__(self) -> str:
        return f"{self.topics} topics and {self.records} records"


def load_seed(cluster: Cluster, seed: Seed, *, only_new: bool = False) -> Deferred[LoadedSeed]:
    """Create missing topics and append the records; completes when all are committed.

    With ``only_new``, existing topics are left unchanged. Fails with BadSeed; if a topic is refused, nothing was done.
    """
    there = cluster.metadata.image.topics
    if seed.schemas and _SCHEMAS in there:
        by_schema = {record.topic for record in seed.records if record.by_schema}
        if not only_new or by_schema - there.keys():
            raise BadSeed(
                seed.schemas[0].at,
                "the brokers have schemas already, and a seed gives its own the first ids: load it into others",
            )
    if only_new:
        seed = Seed(
            [topic for topic in seed.topics if topic.name not in there],
            [record for record in seed.records if record.topic not in there],
        )
    wanted: Deferred[dict[str, SeedTopic]] = attempt(cluster.runtime.slices.run, _wanted(cluster, seed))
    created = wanted.chain(partial(_create, cluster))
    return created.chain(
        lambda count: _append(cluster, seed.records).map(lambda _: LoadedSeed(count, len(seed.records)))
    )


def _create(cluster: Cluster, wanted: dict[str, SeedTopic]) -> Deferred[int]:
    """Create the topics that are not there, all or none; their number. Fails with BadSeed."""
    there = cluster.metadata.image.topics
    new = [
        (topic.at, NewTopic(topic.name, topic.partitions, topic.replication_factor, configs=topic.configs))
        for name, topic in wanted.items()
        if name not in there
    ]
    topics = [each for _, each in new]

    def checked(created: Charged[list[TopicResult]]) -> None:
        for (at, topic), result in zip(new, created.result, strict=True):
            if result.error is not None:
                raise BadSeed(at, f"topic {topic.name} cannot be created: {result.error}")

    def refused(error: KafkaError) -> NoReturn:
        """As a whole, since it has too many partitions: where most of them are asked for is named."""
        at, topic = max(new, key=lambda each: each[1].partitions)
        raise BadSeed(at, f"topic {topic.name} cannot be created: {error}") from error

    create = cluster.controller.create_topics
    tried = create(topics, validate_only=True).recover(KafkaError, refused).map(checked)
    return tried.chain(lambda _: create(topics)).map(checked).map(lambda _: len(new))


def _wanted(cluster: Cluster, seed: Seed) -> Generator[float, None, dict[str, SeedTopic]]:
    """All topics of a seed, including those that only records name, with enough partitions for these.

    Raises BadSeed.
    """
    found = {topic.name: topic for topic in seed.topics}
    there = {name: len(topic.partitions) for name, topic in cluster.metadata.image.topics.items()}
    for topic in seed.topics:
        if topic.name in there and topic.partitions not in (-1, there[topic.name]):
            raise BadSeed(
                topic.at,
                f"topic {topic.name} is there with {there[topic.name]} partitions, not {topic.partitions}; "
                "write that number, or leave it out",
            )
    said = {topic.name for topic in seed.topics if topic.partitions != -1}
    highest: defaultdict[str, int] = defaultdict(int)
    for number, record in enumerate(seed.records):
        if not number % _BATCH_RECORDS:
            yield _BATCH_RECORDS / 4
        found.setdefault(record.topic, SeedTopic(record.topic, record.at))
        count = there.get(record.topic, found[record.topic].partitions if record.topic in said else None)
        if record.partition is not None:
            if count is not None and record.partition >= count:
                raise BadSeed(
                    record.at, f"topic {record.topic} has no partition {record.partition}; it has {count}, from 0 on"
                )
            highest[record.topic] = max(highest[record.topic], record.partition + 1)
    least = cluster.config["num.partitions"]
    for name, count in highest.items():
        if name not in said and name not in there and count > least:
            found[name] = SeedTopic(name, found[name].at, count, found[name].replication_factor, found[name].configs)
    return found


def _append(cluster: Cluster, records: list[SeedRecord]) -> Deferred[None]:
    """Append records in slices, so that clients are served meanwhile."""
    over: Deferred[None] = Deferred()
    waits: list[Deferred[None]] = []

    def steps() -> Steps:
        try:
            yield from _appending(cluster, records, waits)
        except Exception as error:  # noqa: BLE001 - fails the wait
            over.fail(error)
            return
        gather(waits).map(lambda _: None).pass_to(over)

    cluster.runtime.slices.add(steps())
    return over


def _appending(cluster: Cluster, records: list[SeedRecord], waits: list[Deferred[None]]) -> Steps:
    now_ms = cluster.runtime.clock.now_ms()
    partitioners: dict[str, Partitioner] = {}
    batches: dict[tuple[str, int], _Batch] = {}
    for number, record in enumerate(records):
        index = record.partition
        if index is None:
            index = _choose(cluster, partitioners, record)
        batch = batches.get((record.topic, index))
        if batch is None:
            found = cluster.partition(record.topic, index)
            if found is None:
                raise BadSeed(record.at, f"topic {record.topic} is there no more, or has no partition {index}")
            batch = batches[record.topic, index] = _Batch(found, now_ms, waits)
        batch.add(record)
        if not number % _BATCH_RECORDS:
            yield _BATCH_RECORDS
    for batch in batches.values():
        batch.end()
        yield 1


def _choose(cluster: Cluster, partitioners: dict[str, Partitioner], record: SeedRecord) -> int:
    """Return the partition: by key, or in turn."""
    topic = cluster.metadata.image.topics.get(record.topic)
    if topic is None:
        raise BadSeed(record.at, f"topic {record.topic} is there no more")
    partitioner = partitioners.get(record.topic)
    if partitioner is None:
        partitioner = partitioners[record.topic] = Partitioner(len(topic.partitions))
    index = partitioner.choose(record.key)
    if record.key is None:
        partitioner.next_batch()
    return index


class _Batch:
    """Records of one partition that are appended together."""

    def __init__(self, partition: Partition, now_ms: int, waits: list[Deferred[None]]) -> None:
        self._partition = partition
        self._now_ms = now_ms
        self._waits = waits
        self._records: list[SeedRecord] = []
        self._size = 0
        self._room = min(_BATCH_BYTES, partition.log.config.max_message_bytes) - wire.HEADER_SIZE

    def add(self, record: SeedRecord) -> None:
        size = _size(record)
        if self._records and (len(self._records) == _BATCH_RECORDS or self._size + size > self._room):
            self.end()
        self._records.append(record)
        self._size += size

    def end(self) -> None:
        """Append the batch. Raises BadSeed."""
        records, self._records, self._size = self._records, [], 0
        try:
            self._append(records)
        except KafkaError as error:
            if len(records) == 1:
                raise BadSeed(records[0].at, f"the record is refused: {error}") from error
            for record in records:  # the whole batch was refused: find the record
                self._records = [record]
                self.end()

    def _append(self, records: list[SeedRecord]) -> None:
        batch = wire.encode_batch([self._encodable(record) for record in records], base_offset=0)
        appended = self._partition.append_at_once(memoryview(bytearray(batch)))
        if appended.committed is not None:
            self._waits.append(appended.committed)

    def _encodable(self, record: SeedRecord) -> wire.Record:
        timestamp = self._now_ms if record.timestamp is None else record.timestamp
        return wire.Record(timestamp=timestamp, key=record.key, value=record.value, headers=record.headers)


def _size(record: SeedRecord) -> int:
    """Return an upper bound of a record's size in a batch."""
    headers = sum(len(name) * 3 + len(value or b"") + 10 for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers + _OVERHEAD
