"""Small produces beside large fetches: what one client's load costs the others."""

from __future__ import annotations

import contextlib
import socket
import statistics
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from compat_tests.harness.process import BrokerProcess
from pykbroker.wire.headers import RequestHeader, encode_request_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch
from scripts.bench_job.brokers import Topic
from scripts.bench_job.readings import Reading, milliseconds

_FETCHERS = 3
_FETCHED = 50_000_000
_STORED = 60_000_000
_BATCH = 1_000_000
_PRODUCE_VERSION, _FETCH_VERSION = 9, 11
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class SmallAmongLarge:
    """One-record produces, one at a time, while three raw clients fetch 50 MB at a time and discard it."""

    produces: int
    name: str = field(default="produce among 50 MB fetches", init=False)

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        with Topic(broker, topic, 1), Topic(broker, f"{topic}-large", 1) as large, _connected(broker) as mine:
            one = framed(one_record(topic, 100), _PRODUCE_VERSION)
            fill = framed(one_record(large.name, _BATCH - 1000), _PRODUCE_VERSION)
            for _ in range(_STORED // _BATCH):
                _ask(mine, fill)
            with _fetching(broker, large.name):
                before = broker.cpu_seconds()
                times = [timed(mine, one) for _ in range(self.produces)]
                cpu = broker.cpu_seconds() - before
        cuts = statistics.quantiles(times, n=100)
        return [
            Reading(f"{self.name}, p50", cuts[49] * 1e3, milliseconds, cpu),
            Reading(f"{self.name}, p99", cuts[98] * 1e3, milliseconds),
        ]


@contextlib.contextmanager
def _fetching(broker: BrokerProcess, topic: str) -> Iterator[None]:
    """Fetchers run within the context; each has received its first response."""
    stop, begun = threading.Event(), threading.Barrier(_FETCHERS + 1, timeout=_PATIENCE_S)
    frame = framed(_fetch(topic), _FETCH_VERSION)

    def fetch() -> None:
        with _connected(broker) as connection:
            _ask(connection, frame)
            begun.wait()
            while not stop.is_set():
                _ask(connection, frame)

    threads = [threading.Thread(target=fetch, daemon=True) for _ in range(_FETCHERS)]
    for thread in threads:
        thread.start()
    try:
        begun.wait()
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(_PATIENCE_S)


@contextlib.contextmanager
def _connected(broker: BrokerProcess) -> Iterator[socket.socket]:
    with socket.create_connection((broker.host, broker.port), timeout=_PATIENCE_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield connection


def timed(connection: socket.socket, frame: bytes) -> float:
    """Return the seconds until a request is answered."""
    begun = time.perf_counter()
    _ask(connection, frame)
    return time.perf_counter() - begun


def _ask(connection: socket.socket, frame: bytes) -> None:
    """Send, and receive the response without decoding it."""
    connection.sendall(frame)
    room = memoryview(bytearray(256 * 1024))
    (left,) = struct.unpack(">i", _exactly(connection, 4))
    while left:
        received = connection.recv_into(room, min(left, len(room)))
        if not received:
            raise ConnectionResetError("the broker closed a connection of the bench")
        left -= received


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionResetError("the broker closed a connection of the bench")
        data += piece
    return data


def framed(request: Message, version: int) -> bytes:
    """Return a request as a frame."""
    frame = bytearray()
    encode_request_header(frame, RequestHeader(type(request).API_KEY, version, 1, "bench"))
    request.encode(frame, version)
    return struct.pack(">i", len(frame)) + bytes(frame)


def one_record(topic: str, size: int) -> ProduceRequest:
    """Return a produce of so many bytes to partition 0."""
    record = Record(offset=0, timestamp=int(time.time() * 1000), key=None, value=bytes(size), headers=[])
    data = PartitionProduceData(index=0, records=bytes(encode_batch([record], base_offset=0)))
    return ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])


def _fetch(topic: str) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=_FETCHED)
    return FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=_FETCHED,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[partition])],
    )
