"""Records as plain objects, appended and read without a client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pykbroker.runtime.waits import Deferred
from pykbroker.seeding.dumping import committed_records, partitions, uncommitted_records
from pykbroker.seeding.partitioner import Partitioner
from pykbroker.wire import records as wire
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.partitions.partition import Partition

#: The types of keys, values and headers' values; text is encoded in UTF-8.
Bytes = bytes | str | None
Headers = Mapping[str, Bytes] | Iterable[tuple[str, Bytes]]


@dataclass(frozen=True, slots=True)
class Record:
    """A record with its place in the log. ``timestamp_ms`` is in milliseconds since 1970; ``decoded`` is the value by its schema, if
    ``records`` was asked for it.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    decoded: Any = None

    @property
    def text(self) -> str | None:
        """The value as UTF-8."""
        return None if self.value is None else self.value.decode()


def produce(
    cluster: Cluster,
    topic: str,
    value: Bytes,
    *,
    key: Bytes = None,
    headers: Headers = (),
    partition: int | None = None,
    timestamp_ms: int | None = None,
) -> Deferred[Record]:
    """Append a record as a producer with acks=all does; a missing topic is created if allowed. Fails with LookupError for an
    unknown topic or partition, and with KafkaError with the code with which the record is refused.
    """
    there = topic in cluster.metadata.image.topics
    may_be_made = cluster.config["auto.create.topics.enable"]
    made = cluster.auto_creation.create([topic]) if may_be_made and not there else Deferred.completed(None)
    return made.chain(lambda _: _append(cluster, topic, value, key, headers, partition, timestamp_ms))


def _append(
    cluster: Cluster,
    topic: str,
    value: Bytes,
    key: Bytes,
    headers: Headers,
    partition: int | None,
    timestamp_ms: int | None,
) -> Deferred[Record]:
    if topic not in cluster.metadata.image.topics:
        raise LookupError(f"there is no topic {topic}, and auto.create.topics.enable is false: create_topic({topic!r})")
    count = len(cluster.metadata.image.topics[topic].partitions)
    raw_key = as_bytes(key)
    index = Partitioner(count).choose(raw_key) if partition is None else partition
    found = cluster.partition(topic, index)
    if found is None:
        raise LookupError(f"topic {topic} has no partition {index}; it has {count}, from 0 on")
    if timestamp_ms is None:
        timestamp_ms = cluster.runtime.clock.now_ms()
    pairs = tuple(
        (name, as_bytes(each)) for name, each in (headers.items() if isinstance(headers, Mapping) else headers)
    )
    record = wire.Record(offset=0, timestamp=timestamp_ms, key=raw_key, value=as_bytes(value), headers=pairs)
    appended = found.append_at_once(memoryview(bytearray(wire.encode_batch([record], base_offset=0))))
    stamped = appended.log_append_time if appended.log_append_time >= 0 else timestamp_ms
    lies = Record(topic, index, appended.base_offset, stamped, raw_key, record.value, pairs)
    return (appended.committed or Deferred.completed(None)).map(lambda _: lies)


def as_bytes(value: Bytes) -> bytes | None:
    """The bytes of a key or value, text encoded in UTF-8. Raises TypeError for other types."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise TypeError(f"keys, values and headers are bytes, text or None, not {type(value).__name__}; encode it first")


class Reader:
    """Reads the records of a topic as a consumer with read_committed, each once."""

    def __init__(self, cluster: Cluster, topic: str, partition: int | None = None) -> None:
        self._cluster = cluster
        self._topic = topic
        self._only = partition
        self._read_to: dict[int, int] = {}

    def read(self) -> Iterator[Record]:
        """The new records, partition by partition; none for an unknown topic."""
        for partition in self._partitions():
            begin = max(self._read_to.get(partition.index, 0), partition.log_start_offset)
            end = self._read_to[partition.index] = partition.last_stable_offset
            if begin < end:
                for found in committed_records(partition, begin, end):
                    yield _record(partition, found)

    def uncommitted(self) -> list[Record]:
        """The records of the topic that such a consumer does not see: aborted, or in open transactions."""
        return [
            _record(partition, found) for partition in self._partitions() for found in uncommitted_records(partition)
        ]

    def _partitions(self) -> list[Partition]:
        return [each for each in partitions(self._cluster, self._topic) if self._only in (None, each.index)]


def _record(partition: Partition, found: wire.Record) -> Record:
    return Record(
        *(partition.topic, partition.index, found.offset, found.timestamp),
        *(found.key, found.value, tuple(found.headers)),
    )


def raise_refusal(error: KafkaError | None, about: str) -> None:
    """Raise the error, if any, with its subject in the message."""
    if error is not None:
        raise KafkaError(ErrorCode(error.code), f"{about}: {error.message}")
