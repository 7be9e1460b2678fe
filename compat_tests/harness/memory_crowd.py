"""Crowds of clients whose records are more than a broker's memory, and a broker that has little."""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from compat_tests.harness.awaiting import eventually
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.connection import Connection
from pykbroker.wire.headers import RequestHeader, encode_request_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

LIMIT = 128 * 1024 * 1024
PARTITIONS, BATCHES = 12, 4
CONSUMERS, PRODUCERS, EACH = 100, 50, 6
BATCH = encode_batch([Record(timestamp=1_700_000_000_000, value=os.urandom(1_000_000))])
_CGROUPS = Path("/sys/fs/cgroup")


class Reached(Protocol):
    """A broker as its clients know it."""

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...


class Address(NamedTuple):
    """That of a broker in a container."""

    host: str
    port: int


@contextmanager
def cgroup() -> Iterator[Path | None]:
    """A cgroup with LIMIT bytes of memory; None where none can be made."""
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


class SmallBroker(Pykbroker):
    """pykbroker in a cgroup, or where none can be made with the budget that it has in one."""

    def __init__(self, folder: Path, group: Path | None) -> None:
        super().__init__(folder, {} if group else {"pykbroker.memory.bytes": str(LIMIT // 4)})
        self._group = group

    def command(self) -> list[str]:
        if self._group is None:
            return super().command()
        entered = f'echo $$ > {self._group}/cgroup.procs && exec "$@"'
        return ["sh", "-c", entered, "sh", *super().command()]


def peak(broker: BrokerProcess) -> int:
    """The most bytes of memory that the process has had."""
    lines = Path(f"/proc/{broker.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def create(broker: Reached, topic: str = "t") -> None:
    """A topic whose partitions are led."""
    connection = Connection(f"{broker.host}:{broker.port}", patience_s=60)
    connection.ask(CreateTopicsRequest([CreatableTopic(topic, PARTITIONS, 1)], 60_000), 7)
    partitions = [ListOffsetsPartition(index, timestamp=-1) for index in range(PARTITIONS)]
    asked = ListOffsetsRequest(-1, topics=[ListOffsetsTopic(topic, partitions)])
    eventually(
        lambda: connection.ask(asked, 4).topics[0].partitions,  # type: ignore[attr-defined]
        lambda found: not any(each.error_code for each in found),
    )
    connection.close()


def framed(request: Message, version: int) -> bytes:
    frame = bytearray(4)
    encode_request_header(frame, RequestHeader(type(request).API_KEY, version, 1, "small"))
    request.encode(frame, version)
    struct.pack_into(">i", frame, 0, len(frame) - 4)
    return bytes(frame)


def produce(index: int, topic: str = "t") -> bytes:
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=index, records=BATCH)])
    return framed(ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[data]), 9)


def fetch(offset: int, topic: str = "t") -> bytes:
    wanted = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20) for index in range(PARTITIONS)
    ]
    topics = [FetchTopic(topic=topic, partitions=wanted)]
    return framed(FetchRequest(replica_id=-1, max_wait_ms=500, min_bytes=1, max_bytes=50 << 20, topics=topics), 11)


class Crowd:
    """Clients that each send requests one after the other. ``served`` are the answers that each has had, and ``fewest`` those of the
    one with the fewest when the first had all.
    """

    def __init__(self, broker: Reached, count: int, requests: list[bytes], least: int) -> None:
        self.broker = broker
        self.requests = requests
        self.least = least
        self.served = [0] * count
        self.fewest: int | None = None
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
        if self.fewest is None:
            self.fewest = min(self.served)
        writer.close()

    def run(self) -> None:
        """All connect, and then all begin."""

        async def together() -> None:
            await asyncio.gather(*(self.client(number) for number in range(len(self.served))))

        asyncio.run(together())


def fill(broker: Reached, topic: str = "t", batches: int = BATCHES) -> None:
    """So many batches of each partition, for consumers to catch up on."""
    create(broker, topic)
    Crowd(broker, 1, [produce(index, topic) for index in range(PARTITIONS)] * batches, 0).run()


def consumers(broker: Reached, topic: str = "t", batches: int = BATCHES) -> Crowd:
    return Crowd(broker, CONSUMERS, [fetch(offset, topic) for offset in range(batches)], PARTITIONS * len(BATCH))


def producers(broker: Reached, topic: str = "t") -> Crowd:
    return Crowd(broker, PRODUCERS, [produce(number % PARTITIONS, topic) for number in range(EACH)], 0)
