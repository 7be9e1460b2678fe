"""What is in a cluster, as a seed: topics with what was said of them, and the records that a consumer of committed ones sees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pykbroker.seeding.seed import At, Path, Record, Seed, Topic
from pykbroker.wire import records as wire

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.partitions.partition import Partition


class _Log:
    """A partition as a source: the path has its topic, its number and an offset."""

    def place(self, path: Path) -> str:
        return "-".join(map(str, path))


_LOG = _Log()


def harvest(cluster: Cluster, topics: Iterable[str] = ()) -> Seed:
    """These topics, or all but Kafka's own. Raises LookupError for one that is not there."""
    names = list(topics)
    for name in names:
        check_topic(cluster, name)
    chosen = names or sorted(name for name in cluster.metadata.image.topics if not name.startswith("__"))
    seed = Seed([_topic(cluster, name) for name in chosen])
    for name in chosen:
        for partition in partitions(cluster, name):
            stable = committed_records(partition, partition.log_start_offset, partition.last_stable_offset)
            seed.records += [_record(partition, found) for found in stable]
    return seed


def _topic(cluster: Cluster, name: str) -> Topic:
    image = cluster.metadata.image
    described = image.topics[name]
    factor = len(described.partitions[0].replicas)
    at = At(_LOG, (name,))
    return Topic(name, at, len(described.partitions), factor if factor > 1 else -1, dict(image.topic_config(name)))


def _record(partition: Partition, found: wire.Record) -> Record:
    at = At(_LOG, (partition.topic, partition.index, found.offset))
    return Record(
        *(partition.topic, at, found.key, found.value, list(found.headers)),
        partition=partition.index,
        timestamp=found.timestamp,
    )


def check_topic(cluster: Cluster, topic: str) -> None:
    """Raises LookupError where there is no such topic, with those that are there."""
    if topic not in cluster.metadata.image.topics:
        names = sorted(cluster.metadata.image.topics)
        raise LookupError(f"there is no topic {topic!r}; there are {', '.join(names) if names else 'none'}")


def partitions(cluster: Cluster, topic: str) -> list[Partition]:
    """The partitions of a topic in their order; none where there is no such topic."""
    return sorted((each for each in cluster.partitions() if each.topic == topic), key=lambda each: each.index)


def committed_records(partition: Partition, begin: int, end: int) -> Iterator[wire.Record]:
    """The records between two offsets that a consumer of committed records sees. ``end`` is not above the last stable offset."""
    aborted = [
        (each.producer_id, each.first_offset, each.last_offset)
        for each in partition.log.aborted_transactions(begin, end)
    ]
    for header, data in partition.log.batches(begin):
        if header.base_offset >= end:
            return
        producer, at = header.producer_id, header.base_offset
        undone = header.is_transactional and any(
            producer == each and first <= at <= last for each, first, last in aborted
        )
        if header.is_control or undone:
            continue
        for record in wire.decode_records(data, header=header):
            if begin <= record.offset < end:
                yield record
