"""Fetches of records that are on disk alone: the page cache is told to let the partition's files go before."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import Any, Final

from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.connection import Connection
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from scripts.bench_job.brokers import Topic
from scripts.bench_job.counted_loads import requests
from scripts.bench_job.crowding import one_record
from scripts.bench_job.readings import Reading, megabytes_per_second

_BATCH: Final = 900_000
_FETCHED: Final = 1 << 20
_PRODUCE_VERSION, _FETCH_VERSION = 9, 11
_PATIENCE_S: Final = 60.0


@dataclass(frozen=True)
class ColdReads:
    """A partition of so many batches of 900 KB, read from its beginning a batch at a time: cold, and once more."""

    batches: int
    name: str = field(default="fetches of 900 KB", init=False)

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        connection = Connection(broker.bootstrap, patience_s=_PATIENCE_S)
        try:
            with Topic(broker, topic, 1):
                for _ in range(self.batches):
                    requests(connection, one_record(topic, _BATCH), _PRODUCE_VERSION)
                _let_go(broker, topic)
                return [self._read(broker, connection, topic, of) for of in ("cold pages", "warm pages")]
        finally:
            connection.close()

    def _read(self, broker: BrokerProcess, connection: Connection, topic: str, of: str) -> Reading:
        size, before, begun = 0, broker.cpu_seconds(), time.perf_counter()
        for offset in range(self.batches):
            partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=_FETCHED)
            fetch = FetchRequest(
                max_wait_ms=500,
                min_bytes=1,
                max_bytes=_FETCHED,
                session_epoch=-1,
                topics=[FetchTopic(topic=topic, partitions=[partition])],
            )
            answer: Any = requests(connection, fetch, _FETCH_VERSION)
            size += len(answer.responses[0].partitions[0].records)
        took = time.perf_counter() - begun
        return Reading(f"{self.name}, {of}", took / (size / 1e6), megabytes_per_second, broker.cpu_seconds() - before)


def _let_go(broker: BrokerProcess, topic: str) -> None:
    """Only what is on disk can be dropped from the page cache, so it is written before."""
    files = list((broker.data_dir / f"{topic}-0").glob("*.log"))
    assert files, broker.data_dir
    for file in files:
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
