"""Measures one broker process on an existing folder: start, memory, descriptors, fetches."""

from __future__ import annotations

import random
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from compat_tests.harness.ours import Pykbroker
from compat_tests.oracle.connection import Connection
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from scripts.bench_job.brokers import timed_start
from scripts.bench_size_job.build import Form, is_small, name_of

_LATEST = -1
#: Bytes per fetch: two or three batches.
_FETCHED_BYTES = 4096


@dataclass(frozen=True)
class Measured:
    """Seconds, MB (10^6 bytes) and milliseconds."""

    start_s: float
    start_mb: float
    open_s: float
    open_mb: float
    descriptors: int
    fetch_ms: float
    fetch_p99_ms: float
    stop_s: float


def measure(folder: Path, form: Form, size: int, fetches: int) -> Measured:
    """Start a broker on ``folder / "data"``, send the requests, stop it."""
    broker = Pykbroker(folder)
    start_s = timed_start(broker)
    start_mb = broker.memory_mb()
    client = Connection(broker.bootstrap)
    begun = time.perf_counter()
    ends = _end_offsets(client, form.partitions(size))
    open_s = time.perf_counter() - begun
    rng = random.Random(size)
    _fetch_some(client, ends, rng, max(fetches // 10, 20))  # warm-up: modules are imported
    times = sorted(_fetch_some(client, ends, rng, fetches))
    descriptors = len(list(Path(f"/proc/{broker.pid}/fd").iterdir()))
    open_mb = broker.memory_mb()
    client.close()
    begun = time.perf_counter()
    broker.stop()
    return Measured(
        start_s,
        start_mb,
        open_s,
        open_mb,
        descriptors,
        statistics.median(times) * 1e3,
        times[int(len(times) * 0.99)] * 1e3,
        time.perf_counter() - begun,
    )


def _end_offsets(client: Connection, partitions: int) -> list[int]:
    """Return the end offset of every partition by one request, for which the broker opens every log."""
    topics: dict[str, ListOffsetsTopic] = {}
    for number in range(partitions):
        name, index = name_of(number)
        asked = ListOffsetsPartition(partition_index=index, timestamp=_LATEST)
        topics.setdefault(name, ListOffsetsTopic(name=name)).partitions.append(asked)
    answer = client.ask(ListOffsetsRequest(replica_id=-1, topics=list(topics.values())), 7)
    return [partition.offset for topic in answer.topics for partition in topic.partitions]  # type: ignore[attr-defined]


def _fetch_some(client: Connection, ends: list[int], rng: random.Random, count: int) -> list[float]:
    """Return the seconds of each of ``count`` fetches, from a random offset of a random partition."""
    times = []
    while len(times) < count:
        number = rng.randrange(len(ends))
        offset = rng.randrange(ends[number])
        if not is_small(offset):
            continue
        name, index = name_of(number)
        fetched = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=_FETCHED_BYTES)
        request = FetchRequest(
            max_wait_ms=0, max_bytes=1 << 20, session_epoch=-1, topics=[FetchTopic(topic=name, partitions=[fetched])]
        )
        begun = time.perf_counter()
        answer = client.ask(request, 12).responses[0].partitions[0]  # type: ignore[attr-defined]
        times.append(time.perf_counter() - begun)
        if answer.error_code or not answer.records:
            raise RuntimeError(f"a fetch from offset {offset} of {name}-{index} brought error {answer.error_code}")
    return times
