"""A broker in 128 MB: a hundred consumers that catch up, and fifty producers of large batches, all of whom are served.

The broker runs in a cgroup of that size where the test may make one; else the setting says how much memory there is. Its peak is
read from /proc in both cases.
"""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compat_tests.harness.ours import Pykbroker
from compat_tests.oracle.connection import Connection
from pykbroker.wire.headers import RequestHeader, encode_request_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

LIMIT = 128 * 1024 * 1024
PARTITIONS, BATCHES = 12, 4
CONSUMERS, PRODUCERS, EACH = 100, 50, 6
BATCH = encode_batch([Record(timestamp=1_700_000_000_000, value=os.urandom(1_000_000))])
_CGROUPS = Path("/sys/fs/cgroup")


@contextmanager
def cgroup() -> Iterator[Path | None]:
    """A cgroup with that limit; None where none can be made."""
    for top, name in ((_CGROUPS / "memory", "memory.limit_in_bytes"), (_CGROUPS, "memory.max")):
        folder = top / f"pykbroker-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / name).write_text(str(LIMIT))
        except OSError:
            folder.rmdir()
            continue
        try:
            yield folder
        finally:
            folder.rmdir()
        return
    yield None


class Small(Pykbroker):
    """A broker in a cgroup."""

    group: Path | None = None

    def command(self) -> list[str]:
        if self.group is None:
            return super().command()
        entered = f'echo $$ > {self.group}/cgroup.procs && exec "$@"'
        return ["sh", "-c", entered, "sh", *super().command()]

    @property
    def peak(self) -> int:
        """The most bytes of memory that the process has had."""
        assert self.process is not None
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Small]:
    with cgroup() as group:
        broker = Small(tmp_path, {} if group else {"pykbroker.memory.bytes": str(LIMIT // 4)})
        broker.group = group
        broker.start()
        try:
            yield broker
        finally:
            broker.stop()


def address(broker: Pykbroker) -> str:
    return f"{broker.host}:{broker.port}"


def create(broker: Pykbroker) -> None:
    connection = Connection(address(broker))
    connection.ask(CreateTopicsRequest([CreatableTopic("t", PARTITIONS, 1)], 60_000), 7)
    connection.close()


def framed(request: Message, version: int) -> bytes:
    frame = bytearray(4)
    encode_request_header(frame, RequestHeader(type(request).API_KEY, version, 1, "small"))
    request.encode(frame, version)
    struct.pack_into(">i", frame, 0, len(frame) - 4)
    return bytes(frame)


def produce(index: int) -> bytes:
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=index, records=BATCH)])
    return framed(ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[data]), 9)


def fetch(offset: int) -> bytes:
    wanted = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20) for index in range(PARTITIONS)
    ]
    topics = [FetchTopic(topic="t", partitions=wanted)]
    return framed(FetchRequest(replica_id=-1, max_wait_ms=500, min_bytes=1, max_bytes=50 << 20, topics=topics), 11)


class Crowd:
    """Clients that each send requests one after the other. ``served`` are the answers that each has had."""

    def __init__(self, broker: Pykbroker, count: int, requests: list[bytes], least: int) -> None:
        self.broker = broker
        self.requests = requests
        self.least = least
        self.served = [0] * count
        self._connected = 0
        self._all_connected = asyncio.Event()

    async def client(self, number: int) -> None:
        reader, writer = await asyncio.open_connection(self.broker.host, self.broker.port)
        self._connected += 1
        if self._connected == len(self.served):
            self._all_connected.set()
        await self._all_connected.wait()  # an event wakes all in one turn of this loop, so that all begin together
        for request in self.requests:
            writer.write(request)
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            assert size >= self.least
            while size:
                taken = len(await reader.read(min(size, 1 << 18)))
                assert taken, "the broker has ended the connection"
                size -= taken
            self.served[number] += 1
        writer.close()

    def run(self) -> None:
        """All connect, and then all begin."""

        async def together() -> None:
            await asyncio.gather(*(self.client(number) for number in range(len(self.served))))

        asyncio.run(together())


def test_a_hundred_consumers_catch_up_in_128_mb(broker: Small) -> None:
    create(broker)
    Crowd(broker, 1, [produce(index) for index in range(PARTITIONS)] * BATCHES, 0).run()
    crowd = Crowd(broker, CONSUMERS, [fetch(offset) for offset in range(BATCHES)], PARTITIONS * len(BATCH))
    crowd.run()
    assert crowd.served == [BATCHES] * CONSUMERS
    assert broker.peak < LIMIT


def test_fifty_producers_of_large_batches_are_served_in_128_mb(broker: Small) -> None:
    create(broker)
    crowd = Crowd(broker, PRODUCERS, [produce(number % PARTITIONS) for number in range(EACH)], 0)
    crowd.run()
    assert crowd.served == [EACH] * PRODUCERS
    assert broker.peak < LIMIT
