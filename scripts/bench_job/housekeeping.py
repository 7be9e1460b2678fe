"""How long small produces take while a broker compacts one topic and deletes of another, which it does all the time here; and beside no such
work.
"""

from __future__ import annotations

import contextlib
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from compat_tests.harness.process import ROOT, BrokerProcess
from compat_tests.oracle.connection import Connection
from pykbroker.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from scripts.bench_job.brokers import Topic, another
from scripts.bench_job.crowding import framed, one_record, timed
from scripts.bench_job.readings import Reading, milliseconds

_COMPACTED, _DELETED = "compacted", "deleted"
_SETTINGS: Final = {
    "log.initial.task.delay.ms": "1000",
    "log.retention.check.interval.ms": "1000",
    "log.cleaner.backoff.ms": "1000",
}
_TOPICS: Final = {
    _COMPACTED: {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"},
    _DELETED: {"retention.bytes": "4194304"},
}
_SEGMENT: Final = "1048576"
_PATIENCE_S: Final = 120.0
_PACE_S: Final = 0.001
_PRODUCE_VERSION: Final = 9
_EARLIEST, _LATEST = -2, -1
#: Of a record.
_SIZE: Final = 1024
#: A process of its own: a thousand keys again and again, and as much to the other topic, four thousand records of 1 KiB a second.
_WRITING: Final = f"""
import sys, time
from confluent_kafka import Producer
producer = Producer({{"bootstrap.servers": sys.argv[1], "linger.ms": 5}})
began = time.monotonic()
for number in range(100_000_000):
    producer.produce(sys.argv[2 + number % 2], bytes({_SIZE}), str(number // 2 % 1000))
    if not number % 40:
        producer.poll(max(0, began + number / 4000 - time.monotonic()))
"""


@dataclass(frozen=True)
class AtWork:
    """One-record produces over one connection, one each millisecond."""

    folder: Path
    produces: int
    name: str = field(default="produce each ms", init=False)

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        working = another(broker, self.folder / f"{broker.name}-{topic}".replace(" ", "-"), _SETTINGS)
        working.start()
        try:
            with Topic(working, topic, 1), socket.create_connection((working.host, working.port), _PATIENCE_S) as mine:
                mine.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                frame = framed(one_record(topic, 100), _PRODUCE_VERSION)
                self._paced(mine, frame)  # a warm-up
                readings = self._measured(working, mine, frame, "alone")
                with _written_to(working):
                    readings += self._measured(working, mine, frame, "cleaner and retention at work")
        finally:
            working.stop()
        return readings

    def _measured(self, broker: BrokerProcess, mine: socket.socket, frame: bytes, meanwhile: str) -> list[Reading]:
        before = broker.cpu_seconds(children=True)
        cuts = statistics.quantiles(self._paced(mine, frame), n=1000)
        cpu = broker.cpu_seconds(children=True) - before
        return [
            Reading(f"{self.name}, {meanwhile}, {name}", cuts[cut] * 1e3, milliseconds, cpu if name == "p50" else None)
            for name, cut in (("p50", 499), ("p99", 989), ("p99.9", 998))
        ]

    def _paced(self, mine: socket.socket, frame: bytes) -> list[float]:
        times, due = [], time.perf_counter()
        for _ in range(self.produces):
            due += _PACE_S
            time.sleep(max(0, due - time.perf_counter()))
            times.append(timed(mine, frame))
        return times


@contextlib.contextmanager
def _written_to(broker: BrokerProcess) -> Iterator[None]:
    """Both topics are written to within the context, and were compacted and deleted from before it."""
    connection = Connection(broker.bootstrap, patience_s=_PATIENCE_S)
    topics = [
        CreatableTopic(
            name,
            1,
            1,
            configs=[CreatableTopicConfig(*each) for each in {"segment.bytes": _SEGMENT, **settings}.items()],
        )
        for name, settings in _TOPICS.items()
    ]
    connection.ask(CreateTopicsRequest(topics, 60_000), 7)
    with subprocess.Popen([sys.executable, "-c", _WRITING, broker.bootstrap, *_TOPICS], cwd=ROOT) as process:
        try:
            deadline = time.monotonic() + _PATIENCE_S
            while not (_is_compacted(broker, connection) and _offset(connection, _DELETED, _EARLIEST)):
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{broker.name} has not compacted and deleted within {_PATIENCE_S:.0f} s")
                time.sleep(0.2)
            yield
        finally:
            process.kill()
            connection.close()


def _is_compacted(broker: BrokerProcess, connection: Connection) -> bool:
    """Whether less than half of what was written is there."""
    there = 0
    for file in (broker.data_dir / f"{_COMPACTED}-0").glob("*.log"):
        with contextlib.suppress(FileNotFoundError):  # compacted away since it was listed
            there += file.stat().st_size
    return there < _offset(connection, _COMPACTED, _LATEST) * _SIZE // 2


def _offset(connection: Connection, topic: str, of: int) -> int:
    partition = ListOffsetsPartition(partition_index=0, timestamp=of)
    answer: Any = connection.ask(ListOffsetsRequest(-1, topics=[ListOffsetsTopic(topic, [partition])]), 7)
    return max(0, int(answer.topics[0].partitions[0].offset))
