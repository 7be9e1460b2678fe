"""Builds log directories through the broker's own store, without sockets: many partitions, segments or bytes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pykbroker.brokers.cluster import Cluster
from pykbroker.brokers.lifecycle import BrokerLifecycle
from pykbroker.config.broker import BrokerConfig
from pykbroker.metadata.image import Endpoint
from pykbroker.partitions.partition import Partition
from pykbroker.runtime.clock import SystemClock
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import Log
from pykbroker.storage.real_disk import RealDisk
from pykbroker.wire.batch_header import read_batch_header
from pykbroker.wire.records import Record, encode_batch

#: Partitions per topic; the number created at once is limited.
_TOPIC_PARTITIONS = 1000
#: Records of 100 bytes in a batch that is fetched.
BATCH_RECORDS = 10
#: The long log: real batches between fillers, each of which is one record of zeros that takes no space on the disk.
_FILLER_BYTES = 15 * 1024 * 1024
_BATCHES_BETWEEN = 16
SEGMENT_BYTES = 1024**3


@dataclass(frozen=True)
class Form:
    """The dimension of a log, and its two sizes."""

    name: str
    small: int
    large: int
    fill: Callable[[Cluster, int], None]
    #: Partitions of the topic at a size.
    partitions: Callable[[int], int]

    def label(self, size: int) -> str:
        return self.name.format(size=size)


def build(folder: Path, form: Form, size: int) -> None:
    """Build the folder and shut down cleanly."""
    partitions = form.partitions(size)
    settings = {"num.partitions": str(min(partitions, _TOPIC_PARTITIONS)), "log.retention.ms": "-1"}
    config = BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", **settings})
    cluster = Cluster.open(config, folder, RealDisk(durable=False), SystemClock(), random.Random(1))
    BrokerLifecycle(cluster).start_all({1: [Endpoint("PLAINTEXT", "127.0.0.1", 1)]})
    for number in range(0, partitions, _TOPIC_PARTITIONS):
        created = cluster.auto_creation.create([name_of(number)[0]])
        while not created.done:  # many partitions are made in slices, and no loop runs here
            cluster.runtime.wake_queue.run()
    form.fill(cluster, size)
    cluster.shutdown()


def name_of(number: int) -> tuple[str, int]:
    """Return topic and index of a partition, numbered over all topics."""
    return f"sized-{number // _TOPIC_PARTITIONS}", number % _TOPIC_PARTITIONS


def fill_partitions(cluster: Cluster, count: int) -> None:
    """Append one batch to each of ``count`` partitions."""
    for index in range(count):
        _partition(cluster, index).append_produce(_small_batch(cluster.runtime.clock.now_ms()))


def fill_segments(cluster: Cluster, count: int) -> None:
    """Append ten batches to each of ``count`` segments of one partition."""
    partition, now = _partition(cluster, 0), cluster.runtime.clock.now_ms()
    for number in range(count):
        if number:
            partition.log.roll(now)
        for _ in range(10):
            partition.append_produce(_small_batch(now))


def fill_bytes(cluster: Cluster, gigabytes: int) -> None:
    """Write segments of a gigabyte in one partition: sparse files of valid batches."""
    log, now = _partition(cluster, 0).log, cluster.runtime.clock.now_ms()
    filler = encode_batch([Record(offset=0, timestamp=now, key=None, value=bytes(_FILLER_BYTES), headers=[])])
    head = filler[: len(filler) - _FILLER_BYTES]  # zeros follow
    for number in range(gigabytes):
        if number:
            log.roll(now)
        _fill_segment(log, head, len(filler), bytes(_small_batch(now)))


def _fill_segment(log: Log, head: bytes, filler_bytes: int, small: bytes) -> None:
    """Write filler, small batches, filler, ... up to a gigabyte: directly, since an append would write the zeros, too."""
    segment, config = log.active, LogConfig()
    position, offset = 0, log.log_end_offset
    while position + filler_bytes + _BATCHES_BETWEEN * len(small) <= SEGMENT_BYTES:
        for data, size in [(head, filler_bytes), *[(small, len(small))] * _BATCHES_BETWEEN]:
            header = read_batch_header(data)
            header.base_offset = offset
            segment.log.pwrite(offset.to_bytes(8, "big") + data[8:], position)
            segment.index_batch(position, header, config)
            offset, position = header.last_offset + 1, position + size
    segment.take_back(position)
    log.extend_to(offset)
    log.producers.skip_to(offset)


def is_small(offset: int) -> bool:
    """Whether an offset of the long log is in a small batch."""
    return offset % (_BATCHES_BETWEEN * BATCH_RECORDS + 1) != 0


def _partition(cluster: Cluster, number: int) -> Partition:
    partition = cluster.partition(*name_of(number))
    assert partition is not None
    return partition


def _small_batch(now_ms: int) -> bytearray:
    return bytearray(encode_batch([Record(i, now_ms, None, bytes(100), []) for i in range(BATCH_RECORDS)]))
