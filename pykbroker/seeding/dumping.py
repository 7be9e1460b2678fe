"""Exports topics, with their settings, and records as a seed, as a read_committed consumer sees them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from pykbroker.partitions.record_chunks import RecordChunks, decode_now
from pykbroker.runtime.waits import Deferred
from pykbroker.seeding.seed import At, Path, Seed, SeedRecord, SeedTopic
from pykbroker.storage.index.aborted import AbortedRanges
from pykbroker.wire import records as wire
from pykbroker.wire.record_walk import RecordTooLarge

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.slices import Steps
    from pykbroker.wire.batch_header import BatchHeader
    from pykbroker.wire.primitives import Buffer

    _Decoded = Callable[[Runtime, BatchHeader, Buffer], Iterator[list[wire.Record] | Deferred[None]]]

#: Records read in one step, unless a single batch has more.
_STEP_RECORDS: Final = 100
#: What a record takes beside its content, about the same as an object and as text: many empty ones are much, too.
_RECORD_BYTES: Final = 100


class TooMuch(ValueError):
    """The topics exceed the given limit."""


class _Log:
    """A partition as a source: a path is its topic, its number and an offset."""

    def place(self, path: Path) -> str:
        return "-".join(map(str, path))


_LOG = _Log()


def dump_seed(cluster: Cluster, topics: Iterable[str] = ()) -> Seed:
    """Export these topics, or all but internal ones, at one moment. Raises LookupError for an unknown topic."""
    seed = Seed()
    for _ in _dumping(cluster, topics, seed, _decoded_at_once):
        pass
    return seed


def dump_in_slices(cluster: Cluster, topics: Iterable[str], most_bytes: int) -> Deferred[Seed]:
    """Export topics in slices, with clients served in between, up to the current ends.

    Retention and deletions in between take effect. Fails with TooMuch if keys, values and headers, and 100 bytes for each record,
    exceed ``most_bytes``, and with LookupError for an unknown topic.
    """
    over: Deferred[Seed] = Deferred()

    seed = Seed()
    records = _dumping(cluster, topics, seed, _decoded_slowly)
    cluster.runtime.slices.add(_filling(cluster, seed, records, most_bytes, 0, over))
    return over


def _filling(
    cluster: Cluster,
    seed: Seed,
    records: Generator[list[SeedRecord] | Deferred[None]],
    most_bytes: int,
    size: int,
    over: Deferred[Seed],
) -> Steps:
    """Go on with ``records``, of which ``size`` bytes are there already. What is done with a seed leaves no circle of references: it may have been
    set aside by the collector while it was in use, and nobody would find it.
    """
    try:
        for fresh in records:
            if isinstance(fresh, Deferred):
                following = _filling(cluster, seed, records, most_bytes, size, over)
                fresh.map(partial(_go_on, cluster, following)).pass_failure_to(over)
                return
            size += sum(map(_size, fresh))
            if size > most_bytes:
                raise TooMuch(f"there are more than {most_bytes} bytes of records in these topics")
            yield 1 + len(fresh)
    except Exception as error:  # noqa: BLE001 - fails the wait
        records.close()
        over.fail(error.with_traceback(None))  # its frames have the records
        return
    over.complete(seed)


def _go_on(cluster: Cluster, following: Steps, _: None) -> None:
    cluster.runtime.slices.add(following)


def _dumping(
    cluster: Cluster, topics: Iterable[str], seed: Seed, decoded: _Decoded
) -> Generator[list[SeedRecord] | Deferred[None]]:
    """Fill a seed; each step yields the records that it added, or the wait for more."""
    names = list(dict.fromkeys(topics))
    for name in names:
        check_topic(cluster, name)
    chosen = names or sorted(name for name in cluster.metadata.image.topics if not name.startswith("__"))
    seed.topics += [_topic(cluster, name) for name in chosen]
    for partition, end in _ends(cluster, chosen):
        for fresh in _reading(cluster, partition, end, decoded):
            if not isinstance(fresh, Deferred):
                seed.records += fresh
            yield fresh


def _ends(cluster: Cluster, topics: list[str]) -> list[tuple[Partition, int]]:
    """Return the partitions of topics in order, each with its last stable offset."""
    order = {name: position for position, name in enumerate(topics)}
    found = [each for each in cluster.partitions() if each.topic in order]
    found.sort(key=lambda each: (order[each.topic], each.index))
    return [(each, each.last_stable_offset) for each in found]


def _reading(
    cluster: Cluster, partition: Partition, end: int, decoded: _Decoded
) -> Generator[list[SeedRecord] | Deferred[None]]:
    """Read a partition; each step reads its state anew, since retention and compaction may have run since."""
    at = partition.log_start_offset
    aborted = AbortedRanges(partition.log.aborted_transactions(at, end))
    while at < end:
        _check_there(cluster, partition)
        fresh: list[SeedRecord] = []
        for header, data in partition.log.batches(at):
            if header.base_offset >= end:
                at = end
                break
            if not (header.is_control or aborted.cover(header)):
                for some in decoded(cluster.runtime, header, data):
                    if isinstance(some, Deferred):
                        yield some
                        _check_there(cluster, partition)
                    else:
                        fresh += [_record(partition, found) for found in some if at <= found.offset < end]
                        if len(fresh) >= _STEP_RECORDS:
                            yield fresh
                            _check_there(cluster, partition)
                            fresh = []
            at = header.last_offset + 1
            if len(fresh) >= _STEP_RECORDS:
                break
        else:
            at = end
        yield fresh


def _check_there(cluster: Cluster, partition: Partition) -> None:
    """Raises LookupError if the topic was deleted, also if there is another of its name."""
    if cluster.partition(partition.topic, partition.index) is not partition:
        raise LookupError(f"topic {partition.topic} was deleted while it was read")


def _decoded_at_once(_: Runtime, header: BatchHeader, data: Buffer) -> Iterator[list[wire.Record]]:
    yield wire.decode_records(data, header=header)


def _decoded_slowly(
    runtime: Runtime, header: BatchHeader, data: Buffer
) -> Iterator[list[wire.Record] | Deferred[None]]:
    """The records of a batch, some at a time, and waits for threads in between. Raises TooMuch for a record that is too large."""
    records = decode_now(header, data)
    if records is not None:
        yield records
        return
    chunks = RecordChunks(runtime, header, data)
    try:
        while True:
            taken = chunks.take()
            yield taken.settled()
            if not taken.value:
                return
            yield taken.value
    except RecordTooLarge as error:
        raise TooMuch(str(error)) from error
    finally:
        chunks.close()


def _size(record: SeedRecord) -> int:
    headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return _RECORD_BYTES + len(record.key or b"") + len(record.value or b"") + headers


def _topic(cluster: Cluster, name: str) -> SeedTopic:
    image = cluster.metadata.image
    described = image.topics[name]
    factor = len(described.partitions[0].replicas)
    at = At(_LOG, (name,))
    return SeedTopic(name, at, len(described.partitions), factor if factor > 1 else -1, dict(image.topic_config(name)))


def _record(partition: Partition, found: wire.Record) -> SeedRecord:
    at = At(_LOG, (partition.topic, partition.index, found.offset))
    return SeedRecord(
        *(partition.topic, at, found.key, found.value, list(found.headers)),
        partition=partition.index,
        timestamp=found.timestamp,
    )


def check_topic(cluster: Cluster, topic: str) -> None:
    """Raises LookupError, which lists the topics, if there is no such topic."""
    if topic not in cluster.metadata.image.topics:
        names = sorted(cluster.metadata.image.topics)
        raise LookupError(f"there is no topic {topic!r}; there are {', '.join(names) if names else 'none'}")


def partitions(cluster: Cluster, topic: str) -> list[Partition]:
    """Return the partitions of a topic in order; none for an unknown topic."""
    return sorted((each for each in cluster.partitions() if each.topic == topic), key=lambda each: each.index)


def uncommitted_records(partition: Partition) -> Iterator[wire.Record]:
    """Yield the records that a read_committed consumer does not see: those of aborted transactions, and what is behind the last stable offset."""
    begin, stable = partition.log_start_offset, partition.last_stable_offset
    aborted = AbortedRanges(partition.log.aborted_transactions(begin, stable))
    for header, data in partition.log.batches(begin):
        if header.base_offset >= partition.high_watermark:
            return
        if not header.is_control and (header.base_offset >= stable or aborted.cover(header)):
            yield from wire.decode_records(data, header=header)


def committed_records(partition: Partition, begin: int, end: int) -> Iterator[wire.Record]:
    """Yield the records between two offsets as a read_committed consumer sees them.

    ``end`` is at most the last stable offset.
    """
    aborted = AbortedRanges(partition.log.aborted_transactions(begin, end))
    for header, data in partition.log.batches(begin):
        if header.base_offset >= end:
            return
        if not (header.is_control or aborted.cover(header)):
            yield from (record for record in wire.decode_records(data, header=header) if begin <= record.offset < end)
